// Small-M GEMMs of at most 128 rows on compute capability 9.0: selects and launches the kernel; see
// rows_plain.cuh, rows_pair.cuh and rows_gated.cuh.
#include "kernels/small_gemm/small_gemm_wgmma.hpp"

#include "kernels/device/tile_sizes.hpp"
#include "kernels/small_gemm/rows_gated.cuh"
#include "kernels/small_gemm/rows_pair.cuh"
#include "kernels/small_gemm/rows_plain.cuh"

namespace kernels::gpu {
namespace {

/// Rows of w in a CTA of a plain product; two CTAs of a pair have twice as many.
using PlainTiles = TileSizes<16, 32, 48>;

int pairs_of(int n) { return divide_up(n, kPair * PlainTiles::of(n)); }
int ctas_of(int n, bool gated) {
  return divide_up(n, gated ? GatedTiles::of(n) : PlainTiles::of(n));
}

/// Tensor map of a matrix of k columns, cut into matrices of a chunk of columns, of which a stage
/// has kTurns.
template <class S>
CUtensorMap chunked(const SmallGemm& op, const void* data, int rows, int box_rows,
                    CUtensorMapL2promotion promotion) {
  const auto k = static_cast<std::uint64_t>(op.k);
  return tensor_map<3>({op.type,
                        data,
                        {rows::kChunk, static_cast<std::uint64_t>(rows), k / rows::kChunk},
                        {k, rows::kChunk},
                        {rows::kChunk, static_cast<std::uint32_t>(box_rows), S::R::kTurns},
                        promotion});
}

/// Rows of a box of x. The copy engine fills those past x's last row with zeros, which takes longer
/// than reading rows. In kernels of more than 32 rows x is the left operand, and a product may read
/// anything there, so the box ends at the last row, or at the next multiple of eight if another
/// chunk follows.
template <class S>
int x_rows(int rows) {
  if (S::kXRows < rows::kGroupRows) return S::kXRows;
  return S::R::kTurns == 1 ? rows : round_up(rows, 8);
}

template <class S>
rows::Launch launch_of(const SmallGemm& op) {
  rows::Launch l = {};
  l.op = op;
  l.stages = divide_up(op.k, S::R::kTurns * rows::kChunk);
  l.parts = fused_norm_parts(op.k);
  require(!op.before.squares || l.parts <= multiprocessors(),
          "small_gemm: no product before has as many columns as this x");
  l.x_rows = x_rows<S>(op.rows);
  l.x = chunked<S>(op, op.x, op.rows, l.x_rows, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  return l;
}

template <class S>
void launch(void (*kernel)(rows::Launch), const rows::Launch& l, cudaStream_t stream) {
  const Grid grid = {static_cast<unsigned>(ctas_of(l.op.n, l.op.gated)), rows::kThreads, S::kBytes};
  launch_overlapping("small_gemm", kernel, grid, stream, l);
}

template <class S>
void launch_plain(const SmallGemm& op, cudaStream_t stream) {
  rows::Launch l = launch_of<S>(op);
  l.w = chunked<S>(op, op.w, op.n, S::kWRows, CU_TENSOR_MAP_L2_PROMOTION_NONE);
  launch<S>(rows::rows_plain_kernel<S>, l, stream);
}

/// Each CTA of a pair has half of the stages.
template <class S>
void launch_pair(const SmallGemm& op, cudaStream_t stream) {
  rows::Launch l = launch_of<S>(op);
  l.stages /= kPair;
  l.w = chunked<S>(op, op.w, op.n, S::kWRows, CU_TENSOR_MAP_L2_PROMOTION_NONE);
  const Grid grid = {static_cast<unsigned>(kPair * pairs_of(op.n)), rows::kThreads, S::kBytes};
  launch_overlapping("small_gemm", rows::rows_pair_kernel<S>, grid, stream, l);
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
                       {rows::kChunk, 8, 2, S::kOutputs / 8},
                       CU_TENSOR_MAP_L2_PROMOTION_NONE});
  launch<S>(rows::rows_gated_kernel<S>, l, stream);
}

template <class T, int kXRows>
void launch_rows(const SmallGemm& op, cudaStream_t stream) {
  if (op.gated)
    return GatedTiles::with(op.n, [&](auto outputs) {
      // Half of them are a warpgroup's, in groups of eight gate rows and of eight up rows.
      launch_gated<rows::Gated<T, kXRows, outputs / 8>>(op, stream);
    });
  const auto launch_out = [&](auto tag) {
    using Out = typename decltype(tag)::type;
    PlainTiles::with(
        op.n, [&](auto w_rows) { launch_plain<rows::Plain<T, Out, kXRows, w_rows>>(op, stream); });
  };
  if (op.out == Type::f32) return launch_out(Tag<float>{});
  launch_out(Tag<T>{});
}

template <class T>
void launch_pairs(const SmallGemm& op, cudaStream_t stream) {
  const auto launch_out = [&](auto tag) {
    using Out = typename decltype(tag)::type;
    PlainTiles::with(
        op.n, [&](auto w_rows) { launch_pair<rows::Pair<T, Out, kPair * w_rows>>(op, stream); });
  };
  if (op.out == Type::f32) return launch_out(Tag<float>{});
  launch_out(Tag<T>{});
}

}  // namespace

bool has_small_gemm_wgmma(int rows, int n, int k, bool gated) {
  if (!has_wgmma() || n % 8 != 0 || k % rows::kChunk != 0) return false;
  if (rows <= kSmallGemmRowsWgmma) return ctas_of(n, gated) <= multiprocessors();
  return rows <= kSmallGemmRowsPair && !gated && k % (kPair * rows::kChunk) == 0 &&
         kPair * pairs_of(n) <= multiprocessors();
}

bool prefers_small_gemm_wgmma(int n, int k, bool gated) {
  constexpr std::int64_t kSmall = std::int64_t{1} << 22;  // elements of w
  return 10 * ctas_of(n, gated) >= 7 * multiprocessors() || std::int64_t{n} * k <= kSmall;
}

int fused_norm_parts(int n) { return ctas_of(n, false); }
std::size_t fused_norm_bytes() {
  return sizeof(float) * kFusedNormRows * static_cast<std::size_t>(multiprocessors());
}

void small_gemm_wgmma(const SmallGemm& op, cudaStream_t stream) {
  with_16_bit(op.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (op.rows <= 8) return launch_rows<T, 8>(op, stream);
    if (op.rows <= 16) return launch_rows<T, 16>(op, stream);
    if (op.rows <= 32) return launch_rows<T, 32>(op, stream);
    if (op.rows <= kSmallGemmRowsWgmma) return launch_rows<T, kSmallGemmRowsWgmma>(op, stream);
    launch_pairs<T>(op, stream);
  });
}

}  // namespace kernels::gpu
