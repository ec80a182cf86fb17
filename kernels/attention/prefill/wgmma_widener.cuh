#pragma once
#include "kernels/attention/prefill/wgmma_computer.cuh"

namespace kernels::gpu::prefill_wgmma {

/// The other warps of the producer warpgroup, where KV has one byte a number: widen each tile in
/// its buffer, from the second half on to the whole. Of every 24 rows, which the warps read before
/// one of them stores any, the results replace none that are still to be read.
template <class Product, int kHeadDim, KvSource kSource>
struct Widener {
  using S = Shared<kHeadDim, kSource>;
  static constexpr int kFirstWarp = kComputeWarps + 1, kWarps = kThreads / 32 - kFirstWarp;
  static constexpr int kBarrier = 5;             // behind those of Computer
  static constexpr int kPieces = kHeadDim / 32;  // of eight bytes, of a lane in eight rows
  static_assert(kWarps == 3, "of 4 warps the last 32 rows would overlap as well, but of 2 or 1");

  const Launch& l;
  S shared;
  Turn turn;

  __device__ Widener(const Launch& l, S shared) : l(l), shared(shared) {}

  __device__ void run() {
    const int heads = l.a.shape.kv_heads;
    for (int round = 0, i = item_of(0); i < l.items; i = item_of(++round)) {
      const PrefillPart part = part_of(l, i);
      const Work work(l.a, part.item % heads, part.item / heads);
      const int end = min(part.end, (work.keys + kTileKeys - 1) / kTileKeys);
      for (int tile = part.begin; tile < end; ++tile) {
        widen(shared.key_ring(turn.stage), shared.keys(turn.stage));
        widen(shared.value_ring(turn.stage), shared.values(turn.stage));
        turn.advance();
      }
    }
  }

  __device__ void widen(const Ring& ring, std::uint32_t tile) const {
    const int warp = static_cast<int>(threadIdx.x) / 32 - kFirstWarp;
    await_phase(ring.raw, turn.parity);
    for (int first = 0; first < kTileKeys / 8; first += kWarps) {
      const int eight = first + warp;
      const bool any = eight < kTileKeys / 8;
      uint2 bytes[kPieces];
#pragma unroll
      for (int i = 0; any && i < kPieces; ++i)
        bytes[i] = load_eight_bytes(tile + S::kTileBytes / 2 + eight * 8 * kHeadDim + byte_of(i));
      meet(kBarrier, 32 * kWarps);
#pragma unroll
      for (int i = 0; any && i < kPieces; ++i) {
        const int row = byte_of(i) / kHeadDim, column = byte_of(i) % kHeadDim;
        store_sixteen_bytes(tile + eight * S::kTileEightRows + column / kPanel * S::kTilePanel +
                                swizzled<kPanelRowBytes>(row, column % kPanel / 8),
                            gpu::widen<Product>(bytes[i]));
      }
    }
    show_stores();
    meet(kBarrier, 32 * kWarps);
    if (threadIdx.x == 32 * kFirstWarp) arrive(ring.full);
  }
  /// First byte of this lane's piece `i`, counted from the first of eight rows.
  __device__ static int byte_of(int i) { return 8 * (32 * i + static_cast<int>(threadIdx.x) % 32); }
};

}  // namespace kernels::gpu::prefill_wgmma
