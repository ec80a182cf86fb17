#pragma once
#include "kernels/layers/layers.hpp"

/// The part of small_gemm() on compute capability 9.0, for 1 to kSmallGemmRowsPair rows.
namespace kernels::gpu {

/// Whether the current device can compute such a product, on one CTA a multiprocessor at most.
bool has_small_gemm_wgmma(int rows, int n, int k, bool gated);
/// Whether that pays off: there are at least 70 % as many CTAs as multiprocessors, or the product
/// is so small that reading w does not dominate.
bool prefers_small_gemm_wgmma(int n, int k, bool gated);
void small_gemm_wgmma(const SmallGemm& op, cudaStream_t stream);

}  // namespace kernels::gpu
