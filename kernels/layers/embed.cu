// Looks up every token's embedding, and its position's if positions are learned; one CTA per token.
#include "kernels/device/launch.cuh"
#include "kernels/device/number.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/layers/layers.hpp"

namespace kernels::gpu {
namespace {

// Checkpoints of OPT keep two unused rows in front (Hugging Face, OPTLearnedPositionalEmbedding).
constexpr int kPositionOffset = 2;

template <class T>
__global__ void embed_kernel(Embed op) {
  launch_dependents_and_wait();
  const std::int64_t token = blockIdx.x;
  const std::int64_t id = op.token_ids[token];
  const T* positions = op.position_table == nullptr || id < 0
                           ? nullptr
                           : static_cast<const T*>(op.position_table) +
                                 (std::int64_t{op.positions[token]} + kPositionOffset) * op.hidden;
  for (int i = 8 * static_cast<int>(threadIdx.x); i < op.hidden; i += 8 * blockDim.x) {
    Eight x = {};
    if (id >= 0) x = load8(static_cast<const T*>(op.table) + id * op.hidden + i);
    if (positions) add_to(x, load8(positions + i));
    store8(op.residual + token * op.hidden + i, x);
  }
}

}  // namespace

void embed(const Embed& op, cudaStream_t stream) {
  require(op.hidden % 8 == 0, "embed: hidden is not a multiple of 8", op.hidden);
  if (op.tokens == 0) return;
  const unsigned threads = static_cast<unsigned>(op.hidden >= 2048 ? 256 : 64);
  with_16_bit(op.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    // The first kernel of a step is launched without PDL: later ones may rely on the step's arrays
    // being written.
    launch("embed", embed_kernel<T>, {static_cast<unsigned>(op.tokens), threads}, stream, op);
  });
}

}  // namespace kernels::gpu
