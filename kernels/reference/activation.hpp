#pragma once
#include <cstdint>

namespace kernels::reference {

/// out = silu(gate) * up with silu(x) = x / (1 + exp(-x)) (Shazeer 2020).
///   out      [rows][width]
///   gate_up  [rows][2 width]: gate, then up
void swiglu(float* out, const float* gate_up, int rows, int width);

/// x = max(x, 0); NaN stays NaN.
///   x  [count]
void relu(float* x, std::int64_t count);

}  // namespace kernels::reference
