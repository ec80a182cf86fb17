#pragma once
// Scalars of weights, activations and KV, and their conversion from and to float32.
#include <cstddef>
#include <span>

#include "kernels/number.hpp"
#include "workers/model/config.hpp"

namespace model {

/// Calls `use` with a scalar of the type.
template <class Use>
void with_scalar(DType type, const Use& use) {
  switch (type) {
    case DType::f32:
      return use(float());
    case DType::bf16:
      return use(kernels::Bf16());
    case DType::f16:
      return use(kernels::F16());
    case DType::e4m3:
      return use(kernels::E4m3());
  }
}

/// Converts every scalar of `in` as kernels::from_float() does. `in` and `out` hold the same number
/// of scalars, at any alignment, and do not overlap.
void convert(DType from, std::span<const std::byte> in, DType to, std::span<std::byte> out);

}  // namespace model
