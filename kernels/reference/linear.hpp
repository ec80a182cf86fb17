#pragma once
#include <cstdint>

namespace kernels::reference {

/// out = x * weight^T in float32. Every element is one dot(), so a row's result depends on that row
/// alone.
///   out     [rows][outputs]
///   x       [rows][inputs]
///   weight  [outputs][inputs]
void linear(float* out, const float* x, const float* weight, int rows, int outputs, int inputs);

/// x[r] += bias.
///   x     [rows][cols]
///   bias  [cols]
void add_bias(float* x, const float* bias, int rows, int cols);

/// x += y, the residual connection.
///   x, y  [count]
void add(float* x, const float* y, std::int64_t count);

}  // namespace kernels::reference
