#include "kernels/reference/layers.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/reference/sums.hpp"

namespace kernels::reference {
namespace {

constexpr std::int64_t kRowsBeforeFirstPosition = 2;

double square(double x) { return x * x; }

void rotate_head(float* head, const float* cosines, const float* sines, int pairs) {
  for (int i = 0; i < pairs; ++i) {
    const float x = head[i], y = head[i + pairs];
    head[i] = x * cosines[i] - y * sines[i];
    head[i + pairs] = y * cosines[i] + x * sines[i];
  }
}

float silu(float x) { return x / (1 + std::exp(-x)); }

}  // namespace

void embed(float* x, const float* table, const std::int32_t* tokens, int num_tokens, int hidden) {
  for (std::int64_t t = 0; t < num_tokens; ++t)
    std::copy_n(table + std::int64_t{tokens[t]} * hidden, hidden, x + t * hidden);
}

void add_learned_positions(float* x, const float* table, const std::int32_t* positions,
                           int num_tokens, int hidden) {
  for (std::int64_t t = 0; t < num_tokens; ++t) {
    const float* row = table + (positions[t] + kRowsBeforeFirstPosition) * hidden;
    for (int i = 0; i < hidden; ++i) x[t * hidden + i] += row[i];
  }
}

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

void rope_angles(float* cosines, float* sines, const std::int32_t* positions, int num_tokens,
                 const float* inverse_frequency, int pairs, float scale) {
  for (int t = 0; t < num_tokens; ++t) {
    for (int i = 0; i < pairs; ++i) {
      const float angle = static_cast<float>(positions[t]) * inverse_frequency[i];
      *cosines++ = std::cos(angle) * scale;
      *sines++ = std::sin(angle) * scale;
    }
  }
}

void rope(float* x, const float* cosines, const float* sines, int num_tokens, int stride, int heads,
          int head_dim) {
  const int pairs = head_dim / 2;
  for (std::int64_t t = 0; t < num_tokens; ++t)
    for (int head = 0; head < heads; ++head)
      rotate_head(x + t * stride + head * head_dim, cosines + t * pairs, sines + t * pairs, pairs);
}

void swiglu(float* out, const float* gate_up, int rows, int width) {
  for (int r = 0; r < rows; ++r, out += width, gate_up += 2 * std::int64_t{width})
    for (int i = 0; i < width; ++i) out[i] = silu(gate_up[i]) * gate_up[width + i];
}

void relu(float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = x[i] < 0 ? 0 : x[i];
}

std::int32_t argmax(const float* x, int count) {
  std::int32_t best = 0;
  for (std::int32_t i = 1; i < count; ++i)
    if (x[i] > x[best]) best = i;
  return best;
}

}  // namespace kernels::reference
