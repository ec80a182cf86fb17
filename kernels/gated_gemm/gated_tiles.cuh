// Gate and up products of many rows, fused with SwiGLU, for Hopper. A CTA computes tiles of 128 or
// 192 rows of x by 64 to 144 outputs, which are twice as many rows of w: eight gate rows, their
// eight up rows, and so on, so that one thread has both the gate and the up value of an output. A
// producer thread copies chunks of 64 columns into a ring of stages (TMA); two or three consumer
// warpgroups multiply 64 rows of x each. Two CTAs are a cluster: what their tiles have in common is
// read from the L2 cache once and arrives in both.
#pragma once
#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/cluster.cuh"
#include "kernels/device/number.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/device/tensor_map.cuh"
#include "kernels/device/wgmma.cuh"
#include "kernels/layers/fused_norm.cuh"
#include "kernels/layers/layers.hpp"

namespace kernels::gpu::gated {

constexpr int kChunk = 64;                   // columns per stage
constexpr int kChunkBytes = 2 * kChunk;      // per row of a chunk
constexpr int kEightRows = 8 * kChunkBytes;  // unit of the swizzle of tensor maps and products
constexpr int kGroupThreads = 128;
constexpr int kGroupRows = 64;  // rows of x of a warpgroup
static_assert(kGatedGemmTile == 2 * kGroupRows, "rows of two consumer warpgroups");
constexpr int kNormWarps = 3;  // of the producer's warpgroup

/// Like copy_gate_and_up(), but to both CTAs, whose own barriers count the bytes that arrive there.
__device__ inline void copy_gate_and_up_to_both(std::uint32_t to, const CUtensorMap& map, int x,
                                                int eight, std::uint32_t barrier) {
  constexpr std::uint16_t kBoth = 3;
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3, %3, %4}], [%5], %6;\n" ::"r"(to),
      "l"(&map), "r"(x), "r"(0), "r"(eight), "r"(barrier), "h"(kBoth)
      : "memory");
}

/// The shared part of the two tiles of a cluster.
enum class Shares { tokens, weights };

/// Tiles of kOutputs outputs of each row of x, by kGroups consumer warpgroups.
template <Shares kShares, int kOutputs_, int kGroups = 2>
struct Shape {
  static constexpr int kRows = kGroups * kGroupRows, kOutputs = kOutputs_,
                       kCount = 2 * kOutputs / 8;  // groups of eight rows of w
  static constexpr int kConsumers = kGroups * kGroupThreads,
                       kThreads = kGroupThreads + kConsumers;  // the producer's warpgroup is first
  static constexpr int kProducerRegisters = kGroups == 2 ? 40 : 32,
                       kConsumerRegisters = kGroups == 2 ? 232 : 160;
  static_assert(kGroupThreads * (kProducerRegisters + kGroups * kConsumerRegisters) <= 65'536,
                "a multiprocessor has as many registers");
  // Boxes that one CTA copies: all of its own operand, and half of the common one.
  static constexpr bool kTokens = kShares == Shares::tokens;
  static constexpr int kXRows = kTokens ? kRows / kPair : kRows;
  static constexpr int kWPairs = kTokens ? kCount / 2 : kCount / 2 / kPair;  // of eight rows each
  static constexpr int kXBytes = kRows * kChunkBytes, kWBytes = 8 * kCount * kChunkBytes;
  static constexpr int kStageBytes = kXBytes + kWBytes, kStages = 220 * 1024 / kStageBytes;
  static constexpr int kBytes = kStages * (kStageBytes + 16);
  static_assert(kBytes <= 226 * 1024, "a multiprocessor has 227 KiB, some of them static");
  static_assert(kCount % 4 == 0, "store() takes four groups at a time");
  // A tensor-core product has at most 256 rows of w, and multiply_rows() not every number. With
  // four warpgroups in a CTA the compiler refuses one of 224 rows for want of registers.
  static constexpr int kProducts = kCount == 16 || (kCount == 28 && kGroups == 2) ? 1 : 2,
                       kProductCount = kCount / kProducts;
};

struct Launch {
  CUtensorMap w, x;
  GatedGemm op;
  int chunks;                // chunks in all columns
  int row_pairs, out_pairs;  // tiles by rows and by outputs, in clusters
  int norm_parts;            // CTAs that left sums of squares of x's rows
};

/// Shared memory: stages of x and w, and their barriers: `full` when all copies have arrived,
/// `empty` when no consumer of either CTA needs the stage any more.
template <class S>
struct Ring {
  std::uint32_t base;
  __device__ std::uint32_t x(int stage) const { return base + stage * S::kStageBytes; }
  __device__ std::uint32_t w(int stage) const { return x(stage) + S::kXBytes; }
  __device__ std::uint32_t full(int stage) const {
    return base + S::kStages * S::kStageBytes + 16 * stage;
  }
  __device__ std::uint32_t empty(int stage) const { return full(stage) + 8; }

  __device__ void set_up() const {
    for (int stage = 0; stage < S::kStages; ++stage) {
      set_up_barrier(full(stage), 1);
      set_up_barrier(empty(stage), kPair * S::kConsumers / 32);
    }
    show_barriers();
  }
};

/// Where a CTA's tile begins.
struct Place {
  int row, output;
};

/// The tiles of a cluster, in an order in which clusters that run at the same time read few rows of
/// x and of w: eight (pairs of) tiles by rows, then the next outputs.
template <class S>
struct Tiles {
  static constexpr int kTogether = 8;
  const Launch& l;
  int tile = static_cast<int>(blockIdx.x) / kPair;

  __device__ bool left() const { return tile < l.row_pairs * l.out_pairs; }
  __device__ void advance() { tile += static_cast<int>(gridDim.x) / kPair; }
  __device__ Place place(int rank) const {
    const int each = kTogether * l.out_pairs, first = tile / each * kTogether;
    const int rows = min(kTogether, l.row_pairs - first);
    const int row = first + tile % each % rows, output = tile % each / rows;
    if constexpr (S::kTokens)
      return {row * S::kRows, (kPair * output + rank) * S::kOutputs};
    else
      return {(kPair * row + rank) * S::kRows, output * S::kOutputs};
  }
};

/// One thread copies all chunks of a CTA's tiles.
template <class S>
struct Producer {
  const Launch& l;
  Ring<S> ring;
  int rank;
  std::uint64_t policy = l.op.rows <= S::kRows ? read_once() : read_again();

  __device__ void w(int stage, int chunk, const Place& at) const {
    arrive_for_copies(ring.full(stage), S::kStageBytes);
    const int eight = at.output / 8;
    if constexpr (S::kTokens)
      copy_gate_and_up(ring.w(stage), l.w, chunk * kChunk, eight, ring.full(stage), policy);
    else
      copy_gate_and_up_to_both(ring.w(stage) + rank * S::kWBytes / kPair, l.w, chunk * kChunk,
                               eight + rank * S::kWPairs, ring.full(stage));
  }
  __device__ void x(int stage, int chunk, const Place& at) const {
    if constexpr (S::kTokens)
      copy_box_to_both(ring.x(stage) + rank * S::kXBytes / kPair, l.x, chunk * kChunk,
                       at.row + rank * S::kXRows, ring.full(stage));
    else
      copy_box(ring.x(stage), l.x, chunk * kChunk, at.row, ring.full(stage));
  }

  /// The first copies of w begin before the previous kernel has ended.
  __device__ void run() const {
    Tiles<S> tiles{l};
    Turn<S::kStages> turn;
    const int early = min(S::kStages, l.chunks);
    const Place first = tiles.place(rank);
    for (int i = 0; i < early; ++i) w(i, i, first);
    wait_for_predecessor();
    for (int i = 0; i < early; ++i, turn.advance()) x(i, i, first);
    for (int chunk = early; tiles.left(); tiles.advance(), chunk = 0) {
      const Place at = tiles.place(rank);
      for (; chunk < l.chunks; ++chunk, turn.advance()) {
        await_phase(ring.empty(turn.stage), turn.parity ^ 1);
        w(turn.stage, chunk, at);
        x(turn.stage, chunk, at);
      }
    }
  }
};

/// Stores the outputs of 16 rows from `row` on. Lanes exchange sums so that four of them store 32
/// adjacent bytes.
template <class T, int kCount>
__device__ void store(const GatedGemm& op, const float (&sums)[kCount][4], int row, int output) {
  const int lane = threadIdx.x % 32, part = lane % 4, from = lane & ~3 | 2 * (part % 2);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int at = row + lane / 4 + 8 * half, e = 2 * half;
    T* out = static_cast<T*>(op.y) + std::int64_t{at} * op.n + output + 4 * part;
    const float by = norm_factor(op.before, at);
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const auto activated = [&](int gate, int j) {
        return silu(by * sums[gate][j]) * (by * sums[gate + 1][j]);
      };
      const std::uint32_t low = pack<T>(activated(i, e), activated(i, e + 1)),
                          high = pack<T>(activated(i + 2, e), activated(i + 2, e + 1));
      std::uint32_t pair[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const std::uint32_t a = __shfl_sync(kAllLanes, low, from + j),
                            b = __shfl_sync(kAllLanes, high, from + j);
        pair[j] = part < 2 ? a : b;
      }
      if (at < op.rows && output + 4 * i + 4 * part < op.n)
        *reinterpret_cast<uint2*>(out + 4 * i) = {pair[0], pair[1]};
    }
  }
}

/// sums = (add ? sums : 0) + 16 columns of x times those of all rows of w.
template <class T, class S>
__device__ void multiply_w(float (&sums)[S::kCount][4], std::uint64_t x, std::uint64_t w, int add) {
#pragma unroll
  for (int i = 0; i < S::kCount; i += S::kProductCount)
    multiply_rows<T>(reinterpret_cast<float(&)[S::kProductCount][4]>(sums[i]), x,
                     further(w, i * kEightRows), add);
}

/// A warpgroup's part of all tiles.
template <class T, class S>
__device__ void consume(const Launch& l, Ring<S> ring, int rank) {
  const int group = threadIdx.x / kGroupThreads - 1;
  const auto release = [&](int stage) {
    if (threadIdx.x % 32 < kPair) arrive_at(ring.empty(stage), threadIdx.x % 32);
  };
  bool awaits_factors = l.op.before.squares;
  Turn<S::kStages> turn;
  float sums[S::kCount][4];
  for (Tiles<S> tiles{l}; tiles.left(); tiles.advance()) {
    int previous = 0;
    for (int chunk = 0; chunk < l.chunks; ++chunk, turn.advance()) {
      await_phase(ring.full(turn.stage), turn.parity);
      const std::uint64_t a = matrix_at(ring.x(turn.stage) + group * kGroupRows * kChunkBytes, 0,
                                        kEightRows),
                          b = matrix_at(ring.w(turn.stage), 0, kEightRows);
      begin_products();
#pragma unroll
      for (int k = 0; k < kChunk / 16; ++k)
        multiply_w<T, S>(sums, further(a, 32 * k), further(b, 32 * k), chunk + k);
      commit_products();
      wait_products<1>(sums);
      if (chunk > 0) release(previous);
      previous = turn.stage;
    }
    wait_products<0>(sums);
    release(previous);
    if (awaits_factors) await_norm_factors<S::kConsumers, kNormWarps>();
    awaits_factors = false;
    const Place at = tiles.place(rank);
    store<T>(l.op, sums, at.row + group * kGroupRows + threadIdx.x % kGroupThreads / 32 * 16,
             at.output);
  }
}

template <class T, class S>
__global__ __launch_bounds__(S::kThreads, 1)
    __cluster_dims__(kPair, 1,
                     1) void gated_gemm_kernel([[maybe_unused]] const __grid_constant__ Launch l) {
#if KERNELS_WGMMA
  extern __shared__ __align__(1024) unsigned char memory[];
  const Ring<S> ring{shared_address(memory)};
  const int rank = cluster_rank();
  launch_dependents();
  if (threadIdx.x == 0) ring.set_up();
  __syncwarp();
  sync_cluster();
  if (threadIdx.x < kGroupThreads) {
    release_registers<S::kProducerRegisters>();
    if (threadIdx.x == 0) Producer<S>{l, ring, rank}.run();
    __syncwarp();
    wait_for_predecessor();
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (l.op.before.squares && warp > 0)
      compute_norm_factors<S::kConsumers, kNormWarps, 16>(l.op.before, warp - 1, l.op.rows, l.op.k,
                                                          l.norm_parts);
  } else {
    ask_registers<S::kConsumerRegisters>();
    wait_for_predecessor();
    consume<T>(l, ring, rank);
  }
  sync_cluster();  // the other CTA may still copy to this one, or arrive at its barriers
#endif
}

}  // namespace kernels::gpu::gated
