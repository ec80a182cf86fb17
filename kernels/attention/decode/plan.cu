// Plans the splits of all contexts of a step: one list for all layers and heads. A CTA counts every
// row's units, sums the counts in order, writes the list, and resets the counters.
#include "kernels/attention/decode/workspace.cuh"
#include "kernels/device/launch.cuh"
#include "kernels/device/overlap.cuh"

namespace kernels::gpu {
namespace {

constexpr int kThreads = 256;

/// The row as one unit; padding has no splits.
__device__ DecodeUnit whole_row(const DecodeAttention& op, int row) {
  DecodeUnit unit = {};
  unit.row = row;
  unit.sequence = row < op.rows ? op.sequences[row] : -1;
  if (unit.sequence < 0) return unit;
  unit.query_token = op.query_start[unit.sequence];
  unit.end = op.context[unit.sequence];
  const int length = decode_split_length(unit.end);
  unit.splits = (unit.end + length - 1) / length;
  return unit;
}

__device__ DecodeUnit split_of(DecodeUnit unit, int split) {
  const int length = decode_split_length(unit.end);
  unit.split = split;
  unit.quarter = kWhole;
  unit.begin = split * length;
  unit.end = min(unit.end, unit.begin + length);
  return unit;
}

/// Exclusive prefix sum of `x` over the threads; `total` is the sum over all.
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

/// Resets the counters: each launch leaves them at zero, but only for the rows that it had.
__device__ void reset_counters(const DecodeAttention& op, const DecodeWorkspace& workspace) {
  for (int i = threadIdx.x; i < op.rows * op.shape.kv_heads; i += kThreads)
    workspace.arrived[i] = 0;
  if (threadIdx.x == 0) *workspace.taken = *workspace.left = 0;
}

/// Whether all splits of the step may be cut into quarters: if that gives no more units than are
/// computed at once.
__device__ bool cuts_all(const DecodeAttention& op, int most_splits) {
  int splits;
  sum_before(whole_row(op, threadIdx.x).splits, splits);
  return !op.whole_splits && op.rows <= kThreads && splits <= most_splits;
}

__device__ void list(DecodeUnit* units, const DecodeUnit& row, bool quarters) {
  for (int split = 0; split < row.splits; ++split) {
    DecodeUnit unit = split_of(row, split);
    if (!quarters) *units++ = unit;
    for (unit.quarter = 0; quarters && unit.quarter < kQuarters; ++unit.quarter) *units++ = unit;
  }
}

__global__ void plan_decode_kernel(DecodeAttention op, DecodeWorkspace workspace, int most_splits) {
  launch_dependents_and_wait();
  reset_counters(op, workspace);
  const bool all = cuts_all(op, most_splits);
  int listed = 0;
  for (int begin = 0; begin < op.rows; begin += kThreads) {
    const DecodeUnit row = whole_row(op, begin + threadIdx.x);
    const bool quarters = all && row.splits <= kMostQuartered;
    int total;
    const int before = sum_before(quarters ? kQuarters * row.splits : row.splits, total);
    list(workspace.units + listed + before, row, quarters);
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
  const int at_once = kDecodeCtas * multiprocessors();
  launch_overlapping("plan_decode", plan_decode_kernel, {1, kThreads}, stream, op,
                     DecodeWorkspace::lay_out(op.workspace, op.rows, op.shape),
                     at_once / (kQuarters * op.shape.kv_heads));
}

}  // namespace kernels::gpu
