// Gate and up products of many rows on compute capability 9.0: selects and launches the kernel; see
// gated_tiles.cuh.
#include "kernels/device/tile_sizes.hpp"
#include "kernels/gated_gemm/gated_tiles.cuh"

namespace kernels::gpu {
namespace {

template <class T, class S>
void launch_tiles(const GatedGemm& op, cudaStream_t stream) {
  const auto k = static_cast<std::uint64_t>(op.k), n = static_cast<std::uint64_t>(op.n),
             rows = static_cast<std::uint64_t>(std::min(op.x_rows, round_up(op.rows, S::kRows)));
  gated::Launch l = {};
  l.op = op;
  l.chunks = divide_up(op.k, gated::kChunk);
  l.row_pairs = divide_up(op.rows, (S::kTokens ? 1 : kPair) * S::kRows);
  l.out_pairs = divide_up(op.n, (S::kTokens ? kPair : 1) * S::kOutputs);
  l.norm_parts = fused_norm_parts(op.k);
  l.x = tensor_map<2>({op.type, op.x, {k, rows}, {k}, {gated::kChunk, S::kXRows}});
  // Groups of eight rows of w, gate and up alternating.
  l.w = tensor_map<4>(
      {op.type, op.w, {k, 8, 2, n / 8}, {k, n * k, 8 * k}, {gated::kChunk, 8, 2, S::kWPairs}});
  const int clusters = std::min(l.row_pairs * l.out_pairs, multiprocessors() / kPair);
  const Grid grid = {static_cast<unsigned>(kPair * clusters), S::kThreads, S::kBytes};
  launch_overlapping("gated_gemm", gated::gated_gemm_kernel<T, S>, grid, stream, l);
}

constexpr int kOutputs = 112;  // of a tile of many rows

}  // namespace

bool prefers_gated_gemm(int rows, int n, int k) {
  return has_wgmma() && rows > kSmallGemmRowsWgmma && n % 8 == 0 && k % 8 == 0;
}

void gated_gemm(const GatedGemm& op, cudaStream_t stream) {
  require(op.n % 8 == 0, "gated_gemm: n is not a multiple of 8", op.n);
  require(op.k % 8 == 0, "gated_gemm: k is not a multiple of 8", op.k);
  require(has_wgmma(), "gated_gemm: needs compute capability 9.0");
  require(op.x_rows >= op.rows, "gated_gemm: x has fewer rows than y", op.x_rows);
  require(!op.before.squares || (op.type == Type::bf16 && op.rows <= kFusedNormRows &&
                                 fused_norm_parts(op.k) <= multiprocessors()),
          "gated_gemm: a norm of f16, or of too many rows or columns");
  if (op.rows == 0) return;
  with_16_bit(op.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using gated::Shape, gated::Shares;
    const int tiles = divide_up(op.rows, kGatedGemmTile);
    if (tiles == 1)
      return GatedTiles::with(
          op.n, [&](auto outputs) { launch_tiles<T, Shape<Shares::tokens, outputs>>(op, stream); });
    using OneTile = Shape<Shares::tokens, kOutputs, 3>;
    static_assert(OneTile::kRows == kOneTileRows, "prefers_one_row_tile() knows its rows");
    if (prefers_one_row_tile(op.rows, divide_up(op.n, kOutputs), multiprocessors()))
      return launch_tiles<T, OneTile>(op, stream);
    if (tiles % kPair == 1 && tiles < 8)
      return launch_tiles<T, Shape<Shares::tokens, kOutputs>>(op, stream);
    launch_tiles<T, Shape<Shares::weights, kOutputs>>(op, stream);
  });
}

}  // namespace kernels::gpu
