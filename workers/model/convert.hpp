#pragma once
#include <cstddef>
#include <span>

#include "workers/model/config.hpp"

namespace model {

/// Converts every scalar of `in`, rounding to nearest even; values beyond the range of float16
/// become infinite. `in` and `out` hold the same number of scalars, at any alignment, and do not
/// overlap.
void convert(DType from, std::span<const std::byte> in, DType to, std::span<std::byte> out);

}  // namespace model
