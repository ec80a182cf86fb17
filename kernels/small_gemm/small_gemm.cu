// Small-M GEMMs: selects the kernel, and contains the one for at most eight rows. Such a product is
// bound by reading w once. So the kernel keeps many bytes of w in flight, and starts to read before
// the previous kernel has ended (PDL).
//
// A CTA computes tiles of 16 rows of w. Its eight warps take a tile's columns in turn, in chunks of
// 32 (split-K), and their sums are added in a fixed order. Of each chunk a lane copies 16 bytes of
// two rows to its own part of a queue in shared memory, which no other lane reads. The queue holds
// chunks of the next tile before the last tile is done.
//
// Rows of w are the rows of the tensor-core product, and rows of x its columns. The product expects
// two pairs of numbers of a row in each lane, eight columns apart. A lane has eight adjacent
// numbers instead and spends them on two products. That assigns the columns to lanes in another
// order, the same for w and x, so each sum has the same terms.
#include "kernels/device/capability.hpp"
#include "kernels/device/launch.cuh"
#include "kernels/device/mma.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/layers/layers.hpp"
#include "kernels/small_gemm/small_gemm_wgmma.hpp"

namespace kernels::gpu {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;
constexpr int kTileRows = 16;
constexpr int kChunk = 32;       // columns per warp at a time
constexpr int kCopyBytes = 512;  // per warp: 16 bytes per lane
constexpr int kTileOutputs = kTileRows * kSmallGemmRows;

/// `kParts`: 2 if the product is gated, so that each tile of gate rows has its tile of up rows.
template <int kParts>
struct Shared {
  static constexpr int kStages = 8 / kParts;
  static constexpr int kStageBytes = kParts * 2 * kCopyBytes;
  static constexpr int kQueueBytes = kWarps * kStages * kStageBytes;
  static constexpr int kSumBytes = kWarps * kParts * kTileOutputs * 4;  // of one tile
  static constexpr int kBytes = kQueueBytes + 2 * kSumBytes;
};

/// A warp's slots for one tile, which hold a chunk each or are empty. All warps have the same
/// number of slots. It is a multiple of the stages, so that a slot's stage is known at compile
/// time.
struct Slots {
  int chunks;  // of the tile, for all warps
  int count;   // slots of each warp
  int warp;

  __device__ Slots(int k, int stages)
      : chunks(k / kChunk),
        count(((chunks + kWarps - 1) / kWarps + stages - 1) / stages * stages),
        warp(threadIdx.x / 32) {}
  /// First column of a slot.
  __device__ int column(int slot) const { return (slot * kWarps + warp) * kChunk; }
  __device__ bool full(int slot) const { return slot * kWarps + warp < chunks; }
};

/// Enqueues the copies of w, slot by slot and tile by tile.
template <class T, int kParts>
class Queue {
  using S = Shared<kParts>;

 public:
  __device__ Queue(const SmallGemm& op, const Slots& slots, std::uint32_t shared)
      : op_(op),
        slots_(slots),
        place_(shared + slots.warp * S::kStages * S::kStageBytes + threadIdx.x % 32 * 16),
        tile_(blockIdx.x) {}

  __device__ void push(int stage) {
    if (tile_ * kTileRows < op_.n && slots_.full(slot_)) {
      const int lane = threadIdx.x % 32;
      const std::int64_t row = tile_ * kTileRows + lane / 4, k = op_.k;
      const T* from =
          static_cast<const T*>(op_.w) + row * k + slots_.column(slot_) + 8 * (lane % 4);
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        copy_async(at(stage, part, 0), from + part * op_.n * k, true);
        copy_async(at(stage, part, 1), from + (part * std::int64_t{op_.n} + 8) * k, true);
      }
    }
    commit_copies();
    if (++slot_ == slots_.count) {
      slot_ = 0;
      tile_ += gridDim.x;
    }
  }

  /// Eight numbers of row lane / 4 (`half` 0) or lane / 4 + 8 of the tile.
  __device__ uint4 read(int stage, int part, int half) const {
    uint4 out;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out.x), "=r"(out.y), "=r"(out.z), "=r"(out.w)
                 : "r"(at(stage, part, half))
                 : "memory");
    return out;
  }

 private:
  __device__ std::uint32_t at(int stage, int part, int half) const {
    return place_ + stage * S::kStageBytes + (2 * part + half) * kCopyBytes;
  }

  const SmallGemm& op_;
  const Slots& slots_;
  std::uint32_t place_;
  int tile_, slot_ = 0;
};

/// This lane's numbers of x in a slot: eight of row lane / 4, the same for all tiles.
template <class T>
__device__ uint4 load_x(const SmallGemm& op, const Slots& slots, int slot) {
  if (slot >= slots.count) slot -= slots.count;  // of the next tile
  const int lane = threadIdx.x % 32, row = lane / 4;
  if (row >= op.rows || !slots.full(slot)) return {};
  const T* from = static_cast<const T*>(op.x) + std::int64_t{row} * op.k + slots.column(slot);
  return *reinterpret_cast<const uint4*>(from + 8 * (lane % 4));
}

template <class T>
__device__ void add_chunk(float (&sum)[4], uint4 low, uint4 high, uint4 x) {
  const std::uint32_t first[4] = {low.x, high.x, low.y, high.y};
  const std::uint32_t second[4] = {low.z, high.z, low.w, high.w};
  multiply_add<T>(sum, first, x.x, x.y);
  multiply_add<T>(sum, second, x.z, x.w);
}

/// An output of a tile, summed over the warps; sums are stored in the lanes' layout.
__device__ float sum_of_warps(const float* sums, int stride, int row, int token) {
  const int lane = row % 8 * 4 + token / 2, element = row / 8 * 2 + token % 2;
  float sum = 0;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) sum += sums[warp * stride + 4 * lane + element];
  return sum;
}

template <class Out, int kParts>
__device__ void store_tile(const SmallGemm& op, int tile, const float* sums) {
  constexpr int kStride = kParts * kTileOutputs;  // between warps' sums
  const int row = threadIdx.x % kTileRows, token = threadIdx.x / kTileRows;
  if (token >= op.rows) return;
  float y = sum_of_warps(sums, kStride, row, token);
  if constexpr (kParts == 2) y = silu(y) * sum_of_warps(sums + kTileOutputs, kStride, row, token);
  Out* out = static_cast<Out*>(op.y) + std::int64_t{token} * op.y_stride;
  out[tile * kTileRows + row] = from_float<Out>(y);
}

template <class T, class Out, int kParts>
__global__ __launch_bounds__(kThreads,
                             2) void small_gemm_kernel(const __grid_constant__ SmallGemm op) {
  using S = Shared<kParts>;
  constexpr int kStages = S::kStages;
  extern __shared__ __align__(16) unsigned char shared[];
  launch_dependents();
  const Slots slots(op.k, kStages);
  Queue<T, kParts> queue(op, slots, shared_address(shared));
#pragma unroll
  for (int stage = 0; stage < kStages; ++stage) queue.push(stage);
  wait_for_predecessor();
  uint4 x[kStages];
#pragma unroll
  for (int stage = 0; stage < kStages; ++stage) x[stage] = load_x<T>(op, slots, stage);

  float* sums = reinterpret_cast<float*>(shared + S::kQueueBytes);
  for (int tile = blockIdx.x, turn = 0; tile * kTileRows < op.n; tile += gridDim.x, turn ^= 1) {
    float sum[kParts][4] = {};
    for (int slot = 0; slot < slots.count; slot += kStages) {
#pragma unroll
      for (int stage = 0; stage < kStages; ++stage) {
        wait_copies<kStages - 1>();
        if (slots.full(slot + stage)) {
#pragma unroll
          for (int part = 0; part < kParts; ++part)
            add_chunk<T>(sum[part], queue.read(stage, part, 0), queue.read(stage, part, 1),
                         x[stage]);
        }
        x[stage] = load_x<T>(op, slots, slot + stage + kStages);
        queue.push(stage);
      }
    }
    float* all = sums + turn * S::kSumBytes / 4;
    float4* mine = reinterpret_cast<float4*>(all + slots.warp * kParts * kTileOutputs);
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      mine[32 * part + threadIdx.x % 32] = {sum[part][0], sum[part][1], sum[part][2], sum[part][3]};
    // After this, all sums of this tile are stored. Those of the last tile, in the other half, have
    // been read and may be overwritten.
    __syncthreads();
    if (threadIdx.x < kTileOutputs) store_tile<Out, kParts>(op, tile, all);
  }
}

template <class T, class Out, int kParts>
void launch_small_gemm(const SmallGemm& op, cudaStream_t stream) {
  const auto kernel = small_gemm_kernel<T, Out, kParts>;
  constexpr int kBytes = Shared<kParts>::kBytes;
  static const int resident = resident_ctas("small_gemm", kernel, kThreads, kBytes);
  const int tiles = op.n / kTileRows;
  const Grid grid = {static_cast<unsigned>(tiles < resident ? tiles : resident), kThreads, kBytes};
  launch_overlapping("small_gemm", kernel, grid, stream, op);
}

bool tiles_divide(int n, int k) { return n % kTileRows == 0 && k % kChunk == 0; }

/// Whether a kernel for compute capability 9.0 computes the product: if it can and, for up to
/// kSmallGemmRows rows, is also faster.
bool by_wgmma(int rows, int n, int k, bool gated) {
  return has_small_gemm_wgmma(rows, n, k, gated) &&
         (rows > kSmallGemmRows || prefers_small_gemm_wgmma(n, k, gated));
}

/// Refuses norms that no kernel computes.
void check_norms(const SmallGemm& op) {
  const NormAfter& after = op.after;
  if (!op.before.squares && !after.residual) return;
  require(op.type == Type::bf16 && op.out == op.type && by_wgmma(op.rows, op.n, op.k, op.gated),
          "small_gemm: a norm needs bf16 and a shape that fuses_norms() takes");
  require(!op.before.squares || !after.residual, "small_gemm: norms before and after a product");
  require(!after.residual || (!op.gated && after.weight && after.squares),
          "small_gemm: a norm after a gated product, or without its weight or squares");
}

}  // namespace

bool prefers_small_gemm(int rows, int n, int k, bool gated) {
  if (rows <= kSmallGemmRows) return tiles_divide(n, k);
  return has_small_gemm_wgmma(rows, n, k, gated) && prefers_small_gemm_wgmma(n, k, gated);
}

bool fuses_norms(int rows, int n, int k, bool gated) {
  if (gated && rows > kSmallGemmRowsWgmma)
    return rows <= kFusedNormRows && prefers_gated_gemm(rows, n, k) &&
           fused_norm_parts(k) <= multiprocessors();
  return prefers_small_gemm(rows, n, k, gated) && by_wgmma(rows, n, k, gated);
}

void small_gemm(const SmallGemm& op, cudaStream_t stream) {
  require(!op.gated || op.out == op.type, "small_gemm: a gated product has the type of its input");
  require(op.out == op.type || op.out == Type::f32,
          "small_gemm: the output is neither of x's type nor float32");
  check_norms(op);
  if (op.rows > 0 && by_wgmma(op.rows, op.n, op.k, op.gated)) return small_gemm_wgmma(op, stream);
  require(op.rows <= kSmallGemmRows && tiles_divide(op.n, op.k),
          "small_gemm: more rows than this device takes, or n or k that tiles do not divide");
  if (op.rows == 0) return;
  with_16_bit(op.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (op.gated) return launch_small_gemm<T, T, 2>(op, stream);
    if (op.out == Type::f32) return launch_small_gemm<T, float, 1>(op, stream);
    launch_small_gemm<T, T, 1>(op, stream);
  });
}

}  // namespace kernels::gpu
