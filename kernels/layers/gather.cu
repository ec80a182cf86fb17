// Copies selected rows next to each other, 16 bytes per thread.
#include "kernels/device/launch.cuh"
#include "kernels/layers/layers.hpp"

namespace kernels::gpu {
namespace {

constexpr int kThreads = 256;

__global__ void gather_rows_kernel(GatherRows op) {
  const int pieces = op.width / 8;
  const std::int64_t from = op.row_ids[blockIdx.x];
  const uint4* in = static_cast<const uint4*>(op.in) + from * pieces;
  uint4* out = static_cast<uint4*>(op.out) + std::int64_t{blockIdx.x} * pieces;
  for (int i = threadIdx.x; i < pieces; i += kThreads) out[i] = in[i];
}

}  // namespace

void gather_rows(const GatherRows& op, cudaStream_t stream) {
  require(op.width % 8 == 0, "gather_rows: width is not a multiple of 8");
  if (op.rows == 0) return;
  launch("gather_rows", gather_rows_kernel, {static_cast<unsigned>(op.rows), kThreads}, stream, op);
}

}  // namespace kernels::gpu
