// Cosines and sines of a step's positions, for all layers; one CTA per token.
#include "kernels/attention/attention.hpp"
#include "kernels/device/launch.cuh"
#include "kernels/device/overlap.cuh"

namespace kernels::gpu {
namespace {

/// The angle is rounded to float32 as in the usual implementation. It is reduced to one turn in
/// double precision, so that positions of 100,000 and more need no slow path.
__device__ float2 cosine_sine(int position, float inverse_frequency, float scale) {
  constexpr double kHalfTurns = 0.31830988618379067154;  // 1 / pi
  const float angle = __fmul_rn(static_cast<float>(position), inverse_frequency);
  const double half_turns = static_cast<double>(angle) * kHalfTurns;
  const double reduced = half_turns - 2 * rint(half_turns / 2);
  float2 out;
  sincospif(static_cast<float>(reduced), &out.y, &out.x);
  return {out.x * scale, out.y * scale};
}

__global__ void rotations_kernel(Rotations op) {
  launch_dependents();
  const float2 cos_sin =
      cosine_sine(op.positions[blockIdx.x], op.inverse_frequencies[threadIdx.x], op.scale);
  wait_for_predecessor();
  reinterpret_cast<float2*>(op.out)[blockIdx.x * blockDim.x + threadIdx.x] = cos_sin;
}

}  // namespace

void compute_rotations(const Rotations& op, cudaStream_t stream) {
  require(op.pairs <= 64, "compute_rotations: more than 64 pairs of dimensions", op.pairs);
  if (op.tokens == 0 || op.pairs == 0) return;
  const Grid grid = {static_cast<unsigned>(op.tokens), static_cast<unsigned>(op.pairs)};
  launch_overlapping("compute_rotations", rotations_kernel, grid, stream, op);
}

}  // namespace kernels::gpu
