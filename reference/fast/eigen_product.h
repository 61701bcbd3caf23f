// Eigen's own FP32 product, compiled apart with every option that makes it fast: a measure, not a
// part of the reference.
#pragma once

#include "reference/matrix.h"

namespace samebits::reference {

// d = b * a^T on one core: d [n, m], a [m, k], b [n, k].
void eigen_product(const Matrix& b, const Matrix& a, Matrix& d);

}  // namespace samebits::reference
