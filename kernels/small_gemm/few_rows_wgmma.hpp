#pragma once
#include "kernels/layers/layers.hpp"

/// The part of few_rows() on compute capability 9.0, for 1 to kSomeRows rows.
namespace kernels::gpu {

/// Whether the current device can compute such a product with all its CTAs resident at once.
bool has_few_rows_wgmma(int rows, int n, int k, bool gated);
/// Whether that pays off: the number of CTAs is close to the number of multiprocessors, or the
/// product is so small that reading w does not dominate.
bool prefers_few_rows_wgmma(int n, int k, bool gated);
void few_rows_wgmma(const FewRows& op, cudaStream_t stream);

}  // namespace kernels::gpu
