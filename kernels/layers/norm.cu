// Residual addition and RMSNorm (arXiv 1910.07467) or LayerNorm (arXiv 1607.06450) in one pass over
// memory. A CTA holds its row in registers, so the row is read once, and the variance is computed
// from the differences from the mean.
#include "kernels/device/launch.cuh"
#include "kernels/device/number.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/layers/layers.hpp"

namespace kernels::gpu {
namespace {

/// Rows of up to kPieces * 8 * blockDim.x elements; thread t holds piece t, t + blockDim.x, ...
template <class T, int kPieces>
struct Row {
  Eight x[kPieces];

  __device__ static int begin(int piece) { return 8 * (piece * blockDim.x + threadIdx.x); }

  __device__ float sum(int width) const {
    float total = 0;
    each(width, [&](int piece, int) {
      for (float value : x[piece].x) total += value;
    });
    return total;
  }

  __device__ float sum_of_squares(int width, float mean) const {
    float total = 0;
    each(width, [&](int piece, int) {
      for (float value : x[piece].x) total += (value - mean) * (value - mean);
    });
    return total;
  }

  template <class Call>
  __device__ static void each(int width, const Call& call) {
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece)
      if (begin(piece) < width) call(piece, begin(piece));
  }
};

template <class T>
__device__ const T* typed(const void* pointer) {
  return static_cast<const T*>(pointer);
}

/// Adds the addend to the residual of one row, and stores the result if the caller needs it.
template <class T, int kPieces>
__device__ void load_row(Row<T, kPieces>& row, const AddNorm& op, std::int64_t first) {
  row.each(op.hidden, [&](int piece, int i) {
    row.x[piece] = load8(op.residual + first + i);
    if (!op.addend) return;
    add_to(row.x[piece], load8(typed<T>(op.addend) + first + i));
    if (op.addend_bias) add_to(row.x[piece], load8(typed<T>(op.addend_bias) + i));
    if (!op.row_ids) store8(op.residual + first + i, row.x[piece]);
  });
}

template <class T, int kPieces, bool kLayerNorm>
__global__ void add_norm_kernel(AddNorm op) {
  __shared__ float shared[32];
  launch_dependents();
  // Wide rows leave no registers for it.
  constexpr bool kEarly = kPieces == 1;
  const int mine = Row<T, kPieces>::begin(0);
  Eight weight = {};
  if (kEarly && mine < op.hidden) weight = load8(typed<T>(op.weight) + mine);
  wait_for_predecessor();
  const std::int64_t in_row = op.row_ids ? op.row_ids[blockIdx.x] : blockIdx.x;
  Row<T, kPieces> row;
  load_row(row, op, in_row * op.hidden);

  float mean = 0;
  if constexpr (kLayerNorm) mean = block_sum(row.sum(op.hidden), shared) / op.hidden;
  const float squares = block_sum(row.sum_of_squares(op.hidden, mean), shared);
  const float factor = rsqrtf(squares / op.hidden + op.epsilon);

  T* out = static_cast<T*>(op.out) + std::int64_t{blockIdx.x} * op.hidden;
  row.each(op.hidden, [&](int piece, int i) {
    if constexpr (!kEarly) weight = load8(typed<T>(op.weight) + i);
    Eight y;
#pragma unroll
    for (int e = 0; e < 8; ++e) y.x[e] = (row.x[piece].x[e] - mean) * factor * weight.x[e];
    if constexpr (kLayerNorm) add_to(y, load8(typed<T>(op.bias) + i));
    store8(out + i, y);
  });
}

template <class T, int kPieces>
void launch_pieces(const AddNorm& op, cudaStream_t stream) {
  const int threads = round_up(divide_up(op.hidden, 8 * kPieces), 32);
  const Grid grid = {static_cast<unsigned>(op.rows), static_cast<unsigned>(threads)};
  if (op.bias)
    return launch_overlapping("layer_norm", add_norm_kernel<T, kPieces, true>, grid, stream, op);
  launch_overlapping("rms_norm", add_norm_kernel<T, kPieces, false>, grid, stream, op);
}

}  // namespace

void add_norm(const AddNorm& op, cudaStream_t stream) {
  require(op.hidden > 0 && op.hidden <= 32768 && op.hidden % 8 == 0,
          "add_norm: hidden is not a multiple of 8 in [8, 32768]", op.hidden);
  if (op.rows == 0) return;
  with_16_bit(op.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (op.hidden <= 8192) return launch_pieces<T, 1>(op, stream);
    launch_pieces<T, 4>(op, stream);
  });
}

}  // namespace kernels::gpu
