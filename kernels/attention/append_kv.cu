// Runs between the fused projection and attention, unless decode attention does its work. In one
// pass it adds biases, normalizes query and key heads (Qwen3), applies the rotary embedding, and
// writes the step's keys and values to their blocks. One CTA per token. A thread owns 8 dimensions
// of one head and the 8 that they rotate with, so that each is read once and written once.
#include "kernels/attention/append_log.cuh"
#include "kernels/attention/head_norm.cuh"
#include "kernels/attention/rotation.cuh"
#include "kernels/device/launch.cuh"
#include "kernels/device/number.cuh"
#include "kernels/device/overlap.cuh"

namespace kernels::gpu {
namespace append {

struct Pair {
  Eight low, high;
};

template <class T>
__device__ Pair load_pair(const T* at, int half) {
  return {load8(at), load8(at + half)};
}

template <class T>
__device__ void store_pair(T* at, int half, const Pair& pair) {
  store8(at, pair.low);
  store8(at + half, pair.high);
}

/// `cos_sin`: of each of the eight angles.
__device__ inline void rotate_pair(Pair& pair, const float* cos_sin) {
  const float4* two = reinterpret_cast<const float4*>(cos_sin);
#pragma unroll
  for (int e = 0; e < 8; e += 2) {
    const float4 pairs = two[e / 2];
    rotate(pair.low.x[e], pair.high.x[e], {pairs.x, pairs.y});
    rotate(pair.low.x[e + 1], pair.high.x[e + 1], {pairs.z, pairs.w});
  }
}

/// RMSNorm of a head, whose pairs are in `lanes` neighboring lanes (a power of two).
template <class T>
__device__ void normalize(Pair& pair, int half, int lanes, const T* weight, float epsilon) {
  const unsigned lane = threadIdx.x % 32, first = lane / lanes * lanes;
  const unsigned head = ((1u << lanes) - 1) << first;
  float sums[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sums[i] = squares_of({pair.low.x[2 * i], pair.low.x[2 * i + 1]},
                         {pair.high.x[2 * i], pair.high.x[2 * i + 1]});
    for (int distance = lanes / 2; distance > 0; distance /= 2)
      sums[i] = __fadd_rn(sums[i], __shfl_xor_sync(head, sums[i], distance));
  }
  const float squares = __fadd_rn(__fadd_rn(sums[0], sums[1]), __fadd_rn(sums[2], sums[3]));
  const float scale = head_scale(squares, 2 * half, epsilon);
  const Pair weights = load_pair(weight, half);
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    pair.low.x[e] = normalized(pair.low.x[e], weights.low.x[e], scale);
    pair.high.x[e] = normalized(pair.high.x[e], weights.high.x[e], scale);
  }
}

/// Position in the arena of one head's key (or value) of this token.
__device__ inline std::int64_t slot_offset(const AppendKv& op, std::int64_t block, int slot,
                                           int kv_head, bool value) {
  return value ? op.kv.layout.value(block, op.kv.layer, kv_head, slot)
               : op.kv.layout.key(block, op.kv.layer, kv_head, slot);
}

template <class T, class Kv, class Log>
__global__ void append_kv_kernel(AppendKv op, Log log) {
  const std::int64_t token = blockIdx.x;
  launch_dependents();
  // The step's arrays are complete before its first kernel: only the projection and the rotations
  // must be waited for.
  const int sequence = op.sequence[token], position = op.positions[token];
  const int half = op.shape.head_dim / 2, pieces = half / 8;
  const KernelLog<Log> kernel_log(log, sequence);
  wait_for_predecessor();
  if (sequence < 0) return;

  const int heads = op.shape.heads, kv_heads = op.shape.kv_heads;
  const int slot = position % op.kv.layout.block_size;
  const std::int64_t block = op.kv.arena == nullptr
                                 ? 0
                                 : op.kv.block_tables[std::int64_t{sequence} * op.kv.table_stride +
                                                      position / op.kv.layout.block_size];
  T* row = static_cast<T*>(op.qkv) + token * op.shape.qkv_width();
  AppendLog<Log> logged(kernel_log, op, static_cast<std::uint32_t>(block), sequence, slot);
  for (int i = threadIdx.x; i < (heads + 2 * kv_heads) * pieces; i += blockDim.x) {
    logged.begin_turn(i, pieces);
    const int head = i / pieces, first = 8 * (i % pieces);
    const bool query = head < heads, value = head >= heads + kv_heads;
    T* at = row + head * op.shape.head_dim + first;
    Pair pair = load_pair(at, half);
    if (op.bias) {
      const T* bias = static_cast<const T*>(op.bias) + head * op.shape.head_dim + first;
      add_to(pair.low, load8(bias));
      add_to(pair.high, load8(bias + half));
    }
    const void* norm = query ? op.query_norm : value ? nullptr : op.key_norm;
    if (norm) normalize(pair, half, pieces, static_cast<const T*>(norm) + first, op.norm_eps);
    if (op.rotations && !value) rotate_pair(pair, op.rotations + 2 * (token * half + first));
    if (query || op.keep_contiguous) store_pair(at, half, pair);
    if (query || op.kv.arena == nullptr) continue;
    const int kv_head = (head - heads) % kv_heads;
    Kv* to = static_cast<Kv*>(op.kv.arena) + slot_offset(op, block, slot, kv_head, value) + first;
    logged.issue();
    store_pair(to, half, pair);
    logged.wrote(i, pieces);
  }
  logged.close();
}

/// Threads of a CTA: a multiple of a warp that covers as many items as possible.
inline int threads_of(const HeadShape& shape) {
  const int items = (shape.heads + 2 * shape.kv_heads) * shape.head_dim / 16;
  const int threads = items < 1024 ? round_up(items, 32) : 1024;
  return threads < 64 ? 64 : threads;
}

template <class Log>
void launch(const AppendKv& op, const Log& log, cudaStream_t stream) {
  const Grid grid = {static_cast<unsigned>(op.tokens), static_cast<unsigned>(threads_of(op.shape))};
  with_kv(op.type, op.kv.e4m3, [&](auto tag, auto of_kv) {
    using T = typename decltype(tag)::type;
    using Kv = typename decltype(of_kv)::type;
    launch_overlapping("append_kv", append_kv_kernel<T, Kv, Log>, grid, stream, op, log);
  });
}

}  // namespace append

int append_kv_warps(const HeadShape& shape) { return append::threads_of(shape) / 32; }

int append_kv_records(const HeadShape& shape) {
  const int items = (shape.heads + 2 * shape.kv_heads) * shape.head_dim / 16;
  const int heads_a_warp = 32 / (shape.head_dim / 16);
  return heads_a_warp * divide_up(items, append::threads_of(shape));
}

void append_kv(const AppendKv& op, cudaStream_t stream) {
  require(op.shape.head_dim == 64 || op.shape.head_dim == 128,
          "append_kv: head_dim is neither 64 nor 128", op.shape.head_dim);
  require(op.kv.arena == nullptr || op.kv.layout.block_size > 0, "append_kv: block_size is below 1",
          op.kv.layout.block_size);
  if (op.tokens == 0) return;
  AppendKv with_slots = op;
  if (op.kv.arena == nullptr) with_slots.kv.layout.block_size = 1;
  with_log(op.log, [&](const auto& log) { append::launch(with_slots, log, stream); });
}

}  // namespace kernels::gpu
