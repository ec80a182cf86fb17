#include "kernels/reference/rope.hpp"

#include <cmath>

namespace kernels::reference {
namespace {

void rotate_head(float* head, const float* cosines, const float* sines, int pairs) {
  for (int i = 0; i < pairs; ++i) {
    const float x = head[i], y = head[i + pairs];
    head[i] = x * cosines[i] - y * sines[i];
    head[i + pairs] = y * cosines[i] + x * sines[i];
  }
}

}  // namespace

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

}  // namespace kernels::reference
