// Products of 65 to 128 rows on Hopper. Two CTAs are a cluster and share some rows of w: each reads
// half of the columns, of these rows and of all rows of x, and at the end adds up half of the
// outputs. So it reads as many bytes of x as a CTA with whole rows of w does for 64 rows of x. Its
// warpgroups multiply 64 rows of x each.
#pragma once
#include "kernels/device/cluster.cuh"
#include "kernels/small_gemm/rows_plain.cuh"

namespace kernels::gpu::rows {

/// kWRows rows of w, of which a CTA finishes the first or the second half.
template <class T_, class Out_, int kWRows_>
struct Pair {
  using T = T_;
  using Out = Out_;
  static constexpr int kXRows = kSmallGemmRowsPair, kWRows = kWRows_;
  static_assert(kXRows == kGroups * kGroupRows, "a warpgroup has 64 rows of x");
  using R = Ring<kWRows, kXRows, 1>;
  static constexpr int kCount = kWRows / 8, kHalf = kCount / kPair;  // groups of eight rows of w
  // Behind the ring, what the other CTA leaves: [kGroups][kHalf][kGroupThreads] of four sums each.
  static constexpr int kSumsAt = R::kBytes;
  static constexpr int kBytes = kSumsAt + kHalf * kComputeThreads * 16;
  static_assert(kSumsAt % 16 == 0);
  static_assert(kBytes <= 226 * 1024, "a multiprocessor has 227 KiB, some of them static");
};

/// A thread's sums are of the CTA's columns until store(), which gives the other CTA its half. Its
/// outputs are of two tokens, eight apart, and kHalf pairs of columns, eight apart.
template <class S>
struct PairOutputs {
  using T = typename S::T;
  static constexpr bool kWide = sizeof(typename S::Out) == sizeof(float);
  const SmallGemm& op;
  const int rank = cluster_rank();
  const int token, column;       // its first ones
  const std::uint32_t received;  // shared memory that the other CTA writes
  float sums[S::kCount][4];
  // With a norm after the product, as in PlainOutputs.
  float2 residual[S::kHalf][2];
  std::uint32_t weight[S::kHalf];

  __device__ PairOutputs(const SmallGemm& of, std::uint32_t shared)
      : op(of),
        token(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4),
        column(static_cast<int>(blockIdx.x) * (S::kWRows / kPair) + 2 * (threadIdx.x % 4)),
        received(shared + S::kSumsAt) {}

  __device__ void prepare_early() {
#pragma unroll
    for (int i = 0; i < S::kHalf; ++i)
      if (normed() && column + 8 * i < op.n)
        weight[i] = *reinterpret_cast<const std::uint32_t*>(static_cast<const T*>(op.after.weight) +
                                                            column + 8 * i);
  }
  __device__ void prepare() {
#pragma unroll
    for (int i = 0; i < S::kHalf; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        if (normed() && has(i, half))
          residual[i][half] = *reinterpret_cast<const float2*>(residual_at(i, half));
  }

  /// Frees a stage when the products of the next one have begun.
  __device__ void multiply(typename S::R ring, int stages) {
    const int half = threadIdx.x / kGroupThreads * kGroupRows * kChunkBytes;
    Turn<S::R::kStages> turn;
    int previous = 0;
    for (int stage = 0; stage < stages; ++stage, turn.advance()) {
      await_phase(ring.full(turn.stage), turn.parity);
      const std::uint64_t x = matrix_at(ring.x(turn.stage, 0) + half, 0, kEightRows),
                          w = matrix_at(ring.w(turn.stage, 0), 0, kEightRows);
      begin_products();
#pragma unroll
      for (int k = 0; k < kChunk / 16; ++k)
        multiply_rows<T>(sums, further(x, 32 * k), further(w, 32 * k), stage + k);
      commit_products();
      wait_products<1>(sums);
      if (stage > 0 && threadIdx.x % 32 == 0) arrive(ring.empty(previous));
      previous = turn.stage;
    }
    wait_products<0>(sums);
  }

  /// Leaves the other CTA's half of the sums in its shared memory.
  __device__ void store() const {
    wait_cluster();  // it has begun
#pragma unroll
    for (int i = 0; i < S::kHalf; ++i) {
      float sent[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) sent[e] = rank == 0 ? sums[S::kHalf + i][e] : sums[i][e];
      store_there(place(i), 1 - rank, sent);
    }
  }

  /// Adds what the other CTA has left, and stores the outputs.
  __device__ void finish() const {
    const float by[2] = {norm_factor(op.before, token), norm_factor(op.before, token + 8)};
    float squares[2] = {};
#pragma unroll
    for (int i = 0; i < S::kHalf; ++i) {
      const float4 other = load_shared(place(i));
      const auto sum = [&](int e, float more) {
        return by[e / 2] * ((rank == 0 ? sums[i][e] : sums[S::kHalf + i][e]) + more);
      };
      finish_two(i, 0, {sum(0, other.x), sum(1, other.y)}, squares[0]);
      finish_two(i, 1, {sum(2, other.z), sum(3, other.w)}, squares[1]);
    }
    if (normed()) leave_squares(squares);
  }

 private:
  __device__ bool normed() const { return !kWide && op.after.residual; }
  __device__ bool has(int i, int half) const {
    return token + 8 * half < op.rows && column + 8 * i < op.n;
  }
  __device__ std::uint32_t place(int i) const {
    const int group = threadIdx.x / kGroupThreads, thread = threadIdx.x % kGroupThreads;
    return received + 16 * ((group * S::kHalf + i) * kGroupThreads + thread);
  }
  __device__ float* residual_at(int i, int half) const {
    return op.after.residual + std::int64_t{token + 8 * half} * op.n + column + 8 * i;
  }

  __device__ void finish_two(int i, int half, float2 y, float& squares) const {
    if (!has(i, half)) return;
    auto* out = static_cast<typename S::Out*>(op.y) + std::int64_t{token + 8 * half} * op.y_stride +
                column + 8 * i;
    if (!normed()) return store_two(out, y.x, y.y);
    float2 x = residual[i][half];
    x.x += to_float(from_float<T>(y.x));
    x.y += to_float(from_float<T>(y.y));
    *reinterpret_cast<float2*>(residual_at(i, half)) = x;
    const float2 weights = unpack<T>(weight[i]);
    store_two(out, x.x * weights.x, x.y * weights.y);
    squares += x.x * x.x + x.y * x.y;
  }

  /// Four neighboring lanes have a row's columns.
  __device__ void leave_squares(const float (&squares)[2]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = squares[half];
      sum += __shfl_xor_sync(kAllLanes, sum, 1);
      sum += __shfl_xor_sync(kAllLanes, sum, 2);
      if (threadIdx.x % 4 == 0 && token + 8 * half < op.rows)
        op.after.squares[blockIdx.x * kFusedNormRows + token + 8 * half] = sum;
    }
  }
};

template <class S>
__global__ __launch_bounds__(kThreads, 1)
    __cluster_dims__(kPair, 1,
                     1) void rows_pair_kernel([[maybe_unused]] const __grid_constant__ Launch l) {
#if KERNELS_WGMMA
  const int first = static_cast<int>(blockIdx.x) / kPair * S::kWRows;
  extern __shared__ __align__(1024) unsigned char memory[];
  PairOutputs<S> outputs(l.op, shared_address(memory));
  const int chunk = outputs.rank * l.stages;
  arrive_cluster();
  run<S>(
      l, chunk,
      [&](std::uint32_t to, int stage, std::uint32_t barrier, std::uint64_t policy) {
        copy_chunks(to, l.w, first, chunk + stage, barrier, policy);
      },
      outputs);
  __syncwarp();
  if (threadIdx.x >= kComputeThreads) wait_cluster();
  sync_cluster();
  if (threadIdx.x < kComputeThreads) outputs.finish();
#endif
}

}  // namespace kernels::gpu::rows
