#pragma once
#include <cstdint>

namespace kernels::reference {

/// Index of the largest element, the lowest of several. Elements must be finite.
///   x  [count], count > 0
std::int32_t argmax(const float* x, int count);

}  // namespace kernels::reference
