#pragma once
#include "kernels/device/layers.hpp"

/// The part of few_rows() on compute capability 9.0, for 1 to kSomeRows rows.
namespace kernels::gpu {

/// Whether the current device can compute such a product in one go of all its CTAs.
bool has_few_rows_wgmma(int rows, int n, int k, bool gated);
/// Whether that is worth it: its CTAs are about as many as there are multiprocessors, or the
/// product is so small that reading w does not decide.
bool prefers_few_rows_wgmma(int n, int k, bool gated);
void few_rows_wgmma(const FewRows& op, cudaStream_t stream);

}  // namespace kernels::gpu
