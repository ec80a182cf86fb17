// Which splits of which contexts there are in this step: one list for all layers and heads. A CTA
// counts every row's splits, sums the counts in order and writes the list.
#include "kernels/device/decode_workspace.cuh"
#include "kernels/device/launch.cuh"

namespace kernels::gpu {
namespace {

constexpr int kThreads = 256;

__device__ int splits_of(const DecodeAttention& op, int row) {
  if (row >= op.rows || op.sequences[row] < 0) return 0;
  const int context = op.context[op.sequences[row]];
  const int length = decode_split_length(context);
  return (context + length - 1) / length;
}

/// The sum of `x` over the threads before this one; `total` over all.
__device__ int sum_before(int x, int& total) {
  __shared__ int sums[kThreads];
  sums[threadIdx.x] = x;
  __syncthreads();
  for (int distance = 1; distance < kThreads; distance *= 2) {
    const int other = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
    __syncthreads();
    sums[threadIdx.x] += other;
    __syncthreads();
  }
  total = sums[kThreads - 1];
  const int before = sums[threadIdx.x] - x;
  __syncthreads();
  return before;
}

__global__ void plan_decode_kernel(DecodeAttention op, DecodeWorkspace workspace) {
  int listed = 0;
  for (int begin = 0; begin < op.rows; begin += kThreads) {
    const int row = begin + threadIdx.x, splits = splits_of(op, row);
    int total;
    const int first = listed + sum_before(splits, total);
    for (int split = 0; split < splits; ++split) workspace.units[first + split] = {row, split};
    listed += total;
  }
  if (threadIdx.x == 0) *workspace.unit_count = listed;
}

}  // namespace

std::size_t decode_workspace_bytes(int rows, const HeadShape& shape) {
  return DecodeWorkspace::lay_out(nullptr, rows, shape).bytes;
}

void plan_decode(const DecodeAttention& op, cudaStream_t stream) {
  if (op.rows == 0) return;
  launch("plan_decode", plan_decode_kernel, {1, kThreads}, stream, op,
         DecodeWorkspace::lay_out(op.workspace, op.rows, op.shape));
}

}  // namespace kernels::gpu
