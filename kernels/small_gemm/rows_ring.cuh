// Products of at most 128 rows on Hopper, which are bound by reading w once. A CTA has some rows of
// w and all their columns, or, from 65 rows of x on, half of them. It has a multiprocessor to
// itself, and is warp-specialized: a producer warp loads chunks of x and w into a ring of stages in
// shared memory with the copy engine (TMA), the first ones of w before the previous kernel has
// ended (PDL), and two consumer warpgroups multiply them. Other warps serve a norm before the
// product.
#pragma once
#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/device/tensor_map.cuh"
#include "kernels/device/wgmma.cuh"
#include "kernels/layers/fused_norm.cuh"
#include "kernels/layers/layers.hpp"

namespace kernels::gpu::rows {

constexpr int kChunk = 64;                   // columns
constexpr int kChunkBytes = 2 * kChunk;      // per row of a chunk
constexpr int kEightRows = 8 * kChunkBytes;  // unit of the swizzle of tensor maps and products
constexpr int kGroups = 2;
constexpr int kGroupThreads = 128;
constexpr int kComputeThreads = kGroups * kGroupThreads;
// Warps that serve a norm before the product: with a lane for each row, factors of up to 128 rows
// are there before the products of small layers end.
constexpr int kNormWarps = kFusedNormRows / 32;
constexpr int kThreads = kComputeThreads + 32 + 32 * kNormWarps;  // with a warp that loads
constexpr int kGroupRows = 64;  // rows of a product's left operand
// A CTA's stages have as many bytes at most, unless a kernel asks for fewer. That is less than a
// multiprocessor's shared memory, so that small kernels fit beside it. They have more than half of
// it, so that no two CTAs of a launch share a multiprocessor.
constexpr int kQueueBytes = 200 * 1024, kHalfBytes = 114 * 1024;

struct Launch {
  CUtensorMap w, x;
  SmallGemm op;
  int stages;  // in all columns of a CTA
  int parts;   // CTAs that left sums of squares of x's rows
  int x_rows;  // copied of each chunk of x, at most the ring's kXRows
};

/// Shared memory: stages of chunks of kWRows rows of w and of up to kXRows rows of x, and barriers:
/// `full` when the copies have arrived, `empty` when no consumer warp needs the stage any more.
/// With kTurns = 1 a stage is one chunk, and both warpgroups read it. With 2 it is two chunks, and
/// the warpgroups take stages in turn. The number of stages is a multiple of kTurns, so that a
/// stage's memory is always read by the same warpgroup: a phase's parity only tells it from the
/// phase before, which its reader must have seen.
template <int kWRows, int kXRows, int kTurns_, int kTogether_ = 1, int kMostBytes = kQueueBytes>
struct Ring {
  static constexpr int kTurns = kTurns_;
  static constexpr int kTogether =
      kTogether_;  // stages that are refilled when all of them are free
  static constexpr int kWBytes = kWRows * kChunkBytes,
                       kXBytes = kXRows * kChunkBytes;  // of a chunk
  static constexpr int kStageBytes = kTurns * (kXBytes + kWBytes);
  static constexpr int kStages = kMostBytes / (kTurns * kStageBytes) * kTurns;
  static constexpr int kBarriers = kStages * kStageBytes;
  static constexpr int kBytes = kBarriers + kStages * 16;
  static_assert(kTurns == 1 || kTurns == kGroups, "one warpgroup or all read a stage");
  static_assert(kBarriers > kHalfBytes, "a multiprocessor has room for one CTA");
  // A product with x on the left reads 64 rows, whatever those beyond x's hold.
  static constexpr bool kHasLeftX =
      (kTurns - 1) * kXBytes + kGroupRows * kChunkBytes <= kStageBytes;

  std::uint32_t base;
  int x_bytes;  // copied of each chunk of x; the next chunk follows
  __device__ std::uint32_t x(int stage, int chunk) const {
    return base + stage * kStageBytes + chunk * x_bytes;
  }
  __device__ std::uint32_t w(int stage, int chunk) const {
    return base + stage * kStageBytes + kTurns * kXBytes + chunk * kWBytes;
  }
  __device__ std::uint32_t full(int stage) const { return base + kBarriers + stage * 16; }
  __device__ std::uint32_t empty(int stage) const { return full(stage) + 8; }

  __device__ void set_up() const {
    for (int stage = 0; stage < kStages; ++stage) {
      set_up_barrier(full(stage), 1);
      set_up_barrier(empty(stage), kComputeThreads / 32 / kTurns);
    }
    show_barriers();
  }
};

/// One thread loads a CTA's stages, whose columns begin with chunk `first_chunk`; load_w(to, stage,
/// barrier, policy) enqueues the copy of w.
template <class R, class LoadW>
struct Loader {
  const Launch& l;
  int first_chunk;
  R ring;
  LoadW load_w;
  std::uint64_t policy = read_once();

  __device__ void w(int buffer, int stage) const {
    arrive_for_copies(ring.full(buffer), R::kTurns * (ring.x_bytes + R::kWBytes));
    load_w(ring.w(buffer, 0), stage, ring.full(buffer), policy);
  }
  __device__ void x(int buffer, int stage) const {
    copy_box(ring.x(buffer, 0), l.x, 0, 0, first_chunk + stage * R::kTurns, ring.full(buffer));
  }

  __device__ void run() const {
    const int early = min(R::kStages, l.stages);
    for (int i = 0; i < early; ++i) w(i, i);
    wait_for_predecessor();
    for (int i = 0; i < early; ++i) x(i, i);
    refill(early);
  }

  __device__ void refill(int stage) const {
    Turn<R::kStages> turn;
    while (stage < l.stages) {
      const int count = min(R::kTogether, l.stages - stage);
      Turn<R::kStages> ahead = turn;
      for (int i = 0; i < count; ++i, ahead.advance())
        await_phase(ring.empty(ahead.stage), ahead.parity);
      ahead = turn;
      for (int i = 0; i < count; ++i, ahead.advance()) w(ahead.stage, stage + i);
      for (int i = 0; i < count; ++i, turn.advance()) x(turn.stage, stage + i);
      stage += count;
    }
  }
};

/// Calls multiply(buffer, stage) for the stages that this warpgroup reads, of which the first is 0,
/// and waits for the products that it begins.
template <class R, int kCount, class Multiply>
__device__ void each_stage(R ring, int stages, float (&sums)[kCount][4], const Multiply& multiply) {
  const int mine = R::kTurns == 1 ? 0 : threadIdx.x / kGroupThreads;
  Turn<R::kStages> turn;
  for (int i = 0; i < mine; ++i) turn.advance();
  for (int stage = mine; stage < stages; stage += R::kTurns) {
    await_phase(ring.full(turn.stage), turn.parity);
    begin_products();
    multiply(turn.stage, stage - mine);
    commit_products();
    wait_products<0>(sums);  // at once, to free the stage: memory is slower than the products
    if (threadIdx.x % 32 == 0) arrive(ring.empty(turn.stage));
    for (int i = 0; i < R::kTurns; ++i) turn.advance();
  }
}

/// Body of the kernels: a warp initializes the ring and loads, kNormWarps others add the sums of
/// squares of x's rows, and the warpgroups compute. outputs.prepare_early() and outputs.prepare()
/// load what outputs.store() needs, before and after the previous kernel has ended.
template <class S, class LoadW, class Outputs>
__device__ void run(const Launch& l, int first_chunk, const LoadW& load_w, Outputs& outputs) {
  using R = typename S::R;
  extern __shared__ __align__(1024) unsigned char memory[];
  const R ring{shared_address(memory), l.x_rows * kChunkBytes};
  launch_dependents();
  const bool loads = threadIdx.x == kComputeThreads;
  if (loads) ring.set_up();
  __syncthreads();
  if (threadIdx.x < kComputeThreads) {
    outputs.prepare_early();
    wait_for_predecessor();
    outputs.prepare();
    outputs.multiply(ring, l.stages);
    if (l.op.before.squares) await_norm_factors<kComputeThreads, kNormWarps>();
    outputs.store();
  } else if (loads) {
    Loader<R, LoadW>{l, first_chunk, ring, load_w}.run();
  } else if (threadIdx.x >= kComputeThreads + 32 && l.op.before.squares) {
    wait_for_predecessor();
    const int warp = (static_cast<int>(threadIdx.x) - kComputeThreads) / 32 - 1;
    compute_norm_factors<kComputeThreads, kNormWarps, 32>(l.op.before, warp, l.op.rows, l.op.k,
                                                          l.parts);
  }
}

}  // namespace kernels::gpu::rows
