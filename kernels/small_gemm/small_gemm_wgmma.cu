// Small-M GEMMs of at most 64 rows on compute capability 9.0: selects and launches the kernel; see
// rows_split.cuh and rows_gated.cuh.
#include "kernels/small_gemm/small_gemm_wgmma.hpp"

#include "kernels/device/capability.hpp"
#include "kernels/small_gemm/rows_gated.cuh"
#include "kernels/small_gemm/rows_split.cuh"

namespace kernels::gpu {
namespace {

constexpr int kSmallGroups = 2, kLargeGroups = 3;  // row groups in a tile of a split-K product

int split_ctas(int n, int groups) {
  return divide_up(n, groups * rows::kGroupRows) * rows::kSplits;
}
int split_groups(int n) {
  return split_ctas(n, kSmallGroups) <= multiprocessors() ? kSmallGroups : kLargeGroups;
}
int ctas_of(int n, bool gated) {
  return gated ? divide_up(n, rows::kGatedOutputs) : split_ctas(n, split_groups(n));
}

template <class S>
rows::Launch launch_of(const SmallGemm& op) {
  const auto count = static_cast<std::uint64_t>(op.rows), k = static_cast<std::uint64_t>(op.k);
  rows::Launch l = {};
  l.op = op;
  l.chunks = divide_up(op.k, rows::kChunk);
  l.x = tensor_map<2>({op.type, op.x, {k, count}, {k}, {rows::kChunk, S::kTokens}});
  return l;
}

template <class S>
void launch_split(const SmallGemm& op, cudaStream_t stream) {
  const auto k = static_cast<std::uint64_t>(op.k), n = static_cast<std::uint64_t>(op.n);
  rows::Launch l = launch_of<S>(op);
  l.w = tensor_map<2>(
      {op.type, op.w, {k, n}, {k}, {rows::kChunk, S::kTileRows}, CU_TENSOR_MAP_L2_PROMOTION_NONE});
  const Grid grid = {static_cast<unsigned>(ctas_of(op.n, false)), S::R::kThreads, S::R::kBytes};
  launch_overlapping("small_gemm", rows::rows_split_kernel<S>, grid, stream, l);
}

/// Tensor map of w in groups of eight rows, gate and up alternating.
template <class S>
void launch_gated(const SmallGemm& op, cudaStream_t stream) {
  const auto k = static_cast<std::uint64_t>(op.k), n = static_cast<std::uint64_t>(op.n);
  rows::Launch l = launch_of<S>(op);
  l.w = tensor_map<4>({op.type,
                       op.w,
                       {k, 8, 2, n / 8},
                       {k, n * k, 8 * k},
                       {rows::kChunk, 8, 2, rows::kGatedOutputs / 8},
                       CU_TENSOR_MAP_L2_PROMOTION_NONE});
  const Grid grid = {static_cast<unsigned>(ctas_of(op.n, true)), S::R::kThreads, S::R::kBytes};
  launch_overlapping("small_gemm", rows::rows_gated_kernel<S>, grid, stream, l);
}

template <class T, int kTokens>
void launch_tokens(const SmallGemm& op, cudaStream_t stream) {
  if (op.gated) return launch_gated<rows::Gated<T, kTokens>>(op, stream);
  const auto launch_out = [&](auto tag) {
    using Out = typename decltype(tag)::type;
    if (split_groups(op.n) == kSmallGroups)
      return launch_split<rows::Split<T, Out, kTokens, kSmallGroups>>(op, stream);
    launch_split<rows::Split<T, Out, kTokens, kLargeGroups>>(op, stream);
  };
  if (op.out == Type::f32) return launch_out(Tag<float>{});
  launch_out(Tag<T>{});
}

}  // namespace

bool has_small_gemm_wgmma(int rows, int n, int k, bool gated) {
  return has_wgmma() && rows <= kSmallGemmRowsWgmma && n % 8 == 0 && k % 8 == 0 &&
         ctas_of(n, gated) <= multiprocessors();
}

bool prefers_small_gemm_wgmma(int n, int k, bool gated) {
  constexpr std::int64_t kSmall = std::int64_t{1} << 22;  // elements of w
  return 10 * ctas_of(n, gated) >= 9 * multiprocessors() || std::int64_t{n} * k <= kSmall;
}

std::size_t small_gemm_workspace_bytes() {
  return static_cast<std::size_t>(multiprocessors()) * kLargeGroups * rows::kGroupRows *
         kSmallGemmRowsWgmma * sizeof(float);
}

void small_gemm_wgmma(const SmallGemm& op, cudaStream_t stream) {
  with_16_bit(op.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (op.rows <= 16) return launch_tokens<T, 16>(op, stream);
    if (op.rows <= 32) return launch_tokens<T, 32>(op, stream);
    launch_tokens<T, kSmallGemmRowsWgmma>(op, stream);
  });
}

}  // namespace kernels::gpu
