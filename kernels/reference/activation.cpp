#include "kernels/reference/activation.hpp"

#include <cmath>

namespace kernels::reference {
namespace {

float silu(float x) { return x / (1 + std::exp(-x)); }

}  // namespace

void swiglu(float* out, const float* gate_up, int rows, int width) {
  for (int r = 0; r < rows; ++r, out += width, gate_up += 2 * std::int64_t{width})
    for (int i = 0; i < width; ++i) out[i] = silu(gate_up[i]) * gate_up[width + i];
}

void relu(float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = x[i] < 0 ? 0 : x[i];
}

}  // namespace kernels::reference
