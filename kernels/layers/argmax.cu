// Finds the largest logit of each row. A row is divided among several CTAs. Each reduces its part
// to a 64-bit key that is ordered like (logit, lowest index first). An integer maximum over the
// keys does not depend on the order of arrival. The last CTA of a row decodes the key.
#include "kernels/device/launch.cuh"
#include "kernels/device/number.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/layers/layers.hpp"

namespace kernels::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kPiece = 8192;  // logits per CTA
using Key = unsigned long long;

struct RowState {
  Key best;  // 0: no number seen
  unsigned saw_nan;
  unsigned arrived;
};

/// Larger for larger x, never 0; -0 counts as 0.
__device__ Key key_of(float x, int index) {
  const std::uint32_t bits = __float_as_uint(x + 0.f);
  const std::uint32_t ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return Key{ordered} << 32 | static_cast<std::uint32_t>(~index);
}

__device__ int index_of(Key key) { return key ? static_cast<int>(~static_cast<unsigned>(key)) : 0; }

struct Found {
  Key best = 0;
  bool saw_nan = false;

  __device__ void see(float x, int index) {
    if (x != x) {
      saw_nan = true;
    } else {
      const Key key = key_of(x, index);
      best = key > best ? key : best;
    }
  }
};

template <class T>
__device__ Found scan_piece(const T* row, int begin, int end) {
  Found found;
  int i = begin + 8 * static_cast<int>(threadIdx.x);
  for (; i + 8 <= end; i += 8 * kThreads) {
    const Eight x = load8(row + i);
#pragma unroll
    for (int e = 0; e < 8; ++e) found.see(x.x[e], i + e);
  }
  for (; i < end; ++i) found.see(to_float(row[i]), i);  // fewer than eight, by one thread
  return found;
}

__device__ Found block_best(Found found) {
  __shared__ Key best[kThreads / 32];
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const Key other = __shfl_xor_sync(kAllLanes, found.best, lanes);
    found.best = other > found.best ? other : found.best;
  }
  if (threadIdx.x % 32 == 0) best[threadIdx.x / 32] = found.best;
  found.saw_nan = __syncthreads_or(found.saw_nan);
  for (Key other : best) found.best = other > found.best ? other : found.best;
  return found;
}

template <class T>
__global__ void argmax_kernel(Argmax op) {
  launch_dependents_and_wait();
  const int row = blockIdx.y, begin = blockIdx.x * kPiece;
  const T* logits = static_cast<const T*>(op.logits) + std::int64_t{row} * op.stride;
  const Found found = block_best(scan_piece(logits, begin, min(begin + kPiece, op.vocab)));
  if (threadIdx.x != 0) return;

  RowState* state = static_cast<RowState*>(op.workspace) + row;
  atomicMax(&state->best, found.best);
  if (found.saw_nan) atomicOr(&state->saw_nan, 1u);
  __threadfence();
  if (atomicAdd(&state->arrived, 1u) + 1 < gridDim.x) return;

  __threadfence();
  op.tokens[row] = index_of(atomicExch(&state->best, Key{0}));
  const unsigned saw_nan = atomicExch(&state->saw_nan, 0u);
  if (op.saw_nan) op.saw_nan[row] = static_cast<std::int32_t>(saw_nan);
  state->arrived = 0;
}

}  // namespace

std::size_t argmax_workspace_bytes(int rows) {
  return static_cast<std::size_t>(rows) * sizeof(RowState);
}

void argmax(const Argmax& op, cudaStream_t stream) {
  require(op.stride >= op.vocab && op.stride % 8 == 0,
          "argmax: stride is below vocab or not a multiple of 8", op.stride);
  require(op.vocab > 0, "argmax: vocab is below 1", op.vocab);
  if (op.rows == 0) return;
  const dim3 blocks(static_cast<unsigned>(divide_up(op.vocab, kPiece)),
                    static_cast<unsigned>(op.rows));
  with_any_type(op.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch_overlapping("argmax", argmax_kernel<T>, {blocks, kThreads}, stream, op);
  });
}

}  // namespace kernels::gpu
