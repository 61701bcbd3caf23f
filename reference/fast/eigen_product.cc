#include "reference/fast/eigen_product.h"

namespace samebits::reference {

void eigen_product(const Matrix& b, const Matrix& a, Matrix& d) { d.noalias() = b * a.transpose(); }

}  // namespace samebits::reference
