// The reference's only containers: dense row-major Eigen matrices. A matrix of any input type is held as the FP32 values
// it widens to, which is exact for FP32, BF16 and FP16.
#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace samebits::reference {

template <class T>
using MatrixOf = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

using Matrix = MatrixOf<float>;
using Codes = MatrixOf<std::uint8_t>;

using MatrixRef = Eigen::Ref<const Matrix>;
using CodesRef = Eigen::Ref<const Codes>;

}  // namespace samebits::reference
