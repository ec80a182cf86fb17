// Common parts of the products of at most 64 rows on Hopper. They are bound by reading w once. They
// are warp-specialized: a CTA has a multiprocessor to itself; a producer warp loads chunks of w and
// x into a ring of stages in shared memory with the copy engine (TMA), the first ones of w before
// the previous kernel has ended (PDL), and consumer warpgroups multiply them.
#pragma once
#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/device/tensor_map.cuh"
#include "kernels/layers/layers.hpp"
#include "kernels/small_gemm/rows_products.cuh"

namespace kernels::gpu::rows {

constexpr int kChunk = 64;                   // columns per stage
constexpr int kChunkBytes = 2 * kChunk;      // per row of a chunk
constexpr int kEightRows = 8 * kChunkBytes;  // unit of the swizzle of tensor maps and products
constexpr int kGroupThreads = 128;
constexpr int kGroupRows = 64;  // rows of a product's first matrix
// Lower bound for a CTA's stages. More than half of a multiprocessor's shared memory, so that no
// two CTAs of a launch share one; less than all of it, so that small kernels fit beside it.
constexpr int kQueueBytes = 180 * 1024;

struct Launch {
  CUtensorMap w, x;
  SmallGemm op;
  int chunks;  // chunks in all columns
};

/// Shared memory: stages of `kWRows` rows of w and `kTokens` rows of x each, and their barriers:
/// `full` when the copies have arrived, `empty` when no consumer warp needs the stage any more.
template <int kWRows, int kTokens, int kGroups>
struct Ring {
  static constexpr int kComputeThreads = kGroups * kGroupThreads;
  static constexpr int kThreads = kComputeThreads + 32;
  static constexpr int kWBytes = kWRows * kChunkBytes;
  static constexpr int kStageBytes = kWBytes + kTokens * kChunkBytes;
  static constexpr int kStages = (kQueueBytes + kStageBytes - 1) / kStageBytes;
  // A product with x as its first matrix reads 64 rows of it, whatever follows the rows of x.
  static constexpr int kBarriers = kStages * kStageBytes + (kGroupRows - kTokens) * kChunkBytes;
  static constexpr int kBytes = kBarriers + kStages * 16;

  std::uint32_t base;
  __device__ std::uint32_t w(int stage) const { return base + stage * kStageBytes; }
  __device__ std::uint32_t x(int stage) const { return w(stage) + kWBytes; }
  __device__ std::uint32_t full(int stage) const { return base + kBarriers + stage * 16; }
  __device__ std::uint32_t empty(int stage) const { return full(stage) + 8; }

  __device__ void set_up() const {
    for (int stage = 0; stage < kStages; ++stage) {
      set_up_barrier(full(stage), 1);
      set_up_barrier(empty(stage), kComputeThreads / 32);
    }
    show_barriers();
  }
};

/// The chunks of columns of a CTA.
struct Chunks {
  int first, end;
};

/// Cache policy that evicts copied data first: weights are read once per step.
__device__ inline std::uint64_t read_once() {
  std::uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;\n" : "=l"(policy));
  return policy;
}

/// One thread loads a CTA's chunks; load_w(to, chunk, barrier) enqueues the copies of w.
template <class R, class LoadW>
struct Loader {
  const Launch& l;
  R ring;
  Chunks chunks;
  LoadW load_w;

  __device__ void w(int stage, int chunk) const {
    arrive_for_copies(ring.full(stage), R::kStageBytes);
    load_w(ring.w(stage), chunk, ring.full(stage));
  }
  __device__ void x(int stage, int chunk) const {
    copy_box(ring.x(stage), l.x, chunk * kChunk, 0, ring.full(stage));
  }

  __device__ void run() const {
    const int early = min(R::kStages, chunks.end - chunks.first);
    for (int i = 0; i < early; ++i) w(i, chunks.first + i);
    wait_for_predecessor();
    for (int i = 0; i < early; ++i) x(i, chunks.first + i);
    refill(chunks.first + early);
  }

  /// Refills two stages at a time, so that memory reads 256 bytes of a row at once.
  __device__ void refill(int chunk) const {
    constexpr int kTogether = 2;
    Turn<R::kStages> turn;
    while (chunk < chunks.end) {
      const int count = min(kTogether, chunks.end - chunk);
      Turn<R::kStages> ahead = turn;
      for (int i = 0; i < count; ++i, ahead.advance())
        await_phase(ring.empty(ahead.stage), ahead.parity);
      ahead = turn;
      for (int i = 0; i < count; ++i, ahead.advance()) w(ahead.stage, chunk + i);
      for (int i = 0; i < count; ++i, turn.advance()) x(turn.stage, chunk + i);
      chunk += count;
    }
  }
};
template <class R, class LoadW>
__device__ void load(const Launch& l, R ring, Chunks chunks, const LoadW& load_w) {
  Loader<R, LoadW>{l, ring, chunks, load_w}.run();
}

/// A warpgroup's sums over a CTA's chunks; first(stage) and second(stage) are the operands.
template <class T, int kCount, class R, class First, class Second>
__device__ void multiply(float (&sums)[kCount][4], R ring, Chunks chunks, const First& first,
                         const Second& second) {
  Turn<R::kStages> turn;
  for (int chunk = chunks.first; chunk < chunks.end; ++chunk, turn.advance()) {
    await_phase(ring.full(turn.stage), turn.parity);
    const std::uint64_t a = matrix_at(first(turn.stage), 0, kEightRows),
                        b = matrix_at(second(turn.stage), 0, kEightRows);
    begin_products();
#pragma unroll
    for (int k = 0; k < kChunk / 16; ++k)
      multiply_rows<T>(sums, further(a, 32 * k), further(b, 32 * k), chunk - chunks.first + k);
    commit_products();
    wait_products<0>(sums);  // at once, to free the stage: memory is slower than the products
    if (threadIdx.x % 32 == 0) arrive(ring.empty(turn.stage));
  }
}

/// Common body of the kernels: the last warp initializes the ring and loads, the others compute.
template <class R, class Load, class Compute>
__device__ void run(R ring, const Load& load, const Compute& compute) {
  launch_dependents();
  const bool loads = threadIdx.x == R::kComputeThreads;
  if (loads) ring.set_up();
  __syncthreads();
  if (threadIdx.x < R::kComputeThreads) {
    wait_for_predecessor();
    compute();
  } else if (loads) {
    load();
  }
}

}  // namespace kernels::gpu::rows
