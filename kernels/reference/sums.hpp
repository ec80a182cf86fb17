#pragma once

namespace kernels::reference {

/// Dot product of float32 vectors in an order that depends on n alone: eight running sums, with
/// element i in sum i % 8, added pairwise at the end. Eight sums let the compiler use vector
/// registers.
inline float dot(const float* a, const float* b, int n) {
  float sums[8] = {};
  int i = 0;
  for (; i + 8 <= n; i += 8)
    for (int lane = 0; lane < 8; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  for (int lane = 0; i < n; ++i, ++lane) sums[lane] += a[i] * b[i];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

}  // namespace kernels::reference
