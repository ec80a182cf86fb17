#include "kernels/reference/norm.hpp"

#include <cmath>
#include <cstdint>

namespace kernels::reference {
namespace {

double square(double x) { return x * x; }

}  // namespace

void rms_norm(float* out, const float* x, const float* weight, int rows, int cols, float eps) {
  for (std::int64_t r = 0; r < rows; ++r, x += cols, out += cols) {
    double squares = 0;
    for (int i = 0; i < cols; ++i) squares += square(x[i]);
    const auto scale = static_cast<float>(1 / std::sqrt(squares / cols + eps));
    for (int i = 0; i < cols; ++i) out[i] = x[i] * scale * weight[i];
  }
}

void layer_norm(float* out, const float* x, const float* weight, const float* bias, int rows,
                int cols, float eps) {
  for (std::int64_t r = 0; r < rows; ++r, x += cols, out += cols) {
    double sum = 0;
    for (int i = 0; i < cols; ++i) sum += x[i];
    const double mean = sum / cols;
    double squares = 0;
    for (int i = 0; i < cols; ++i) squares += square(x[i] - mean);
    const double scale = 1 / std::sqrt(squares / cols + eps);
    for (int i = 0; i < cols; ++i)
      out[i] = static_cast<float>((x[i] - mean) * scale) * weight[i] + bias[i];
  }
}

}  // namespace kernels::reference
