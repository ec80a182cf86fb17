#include "kernels/reference/linear.hpp"

#include "kernels/reference/sums.hpp"

namespace kernels::reference {

void linear(float* out, const float* x, const float* weight, int rows, int outputs, int inputs) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t o = 0; o < outputs; ++o)
      out[r * outputs + o] = dot(x + r * inputs, weight + o * inputs, inputs);
}

void add_bias(float* x, const float* bias, int rows, int cols) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (int i = 0; i < cols; ++i) x[r * cols + i] += bias[i];
}

void add(float* x, const float* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] += y[i];
}

}  // namespace kernels::reference
