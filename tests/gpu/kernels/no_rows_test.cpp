// Steps without prompts, or without requests that decode, launch kernels over nothing.
#include "kernels/attention/attention.hpp"
#include "kernels/blocks/blocks.hpp"
#include "kernels/layers/layers.hpp"
#include "tests/gpu/kernels/captured.hpp"
#include "tests/support/catch.hpp"

namespace gpu = kernels::gpu;
using gpu_test::Captured;

namespace {

constexpr gpu::HeadShape kHeads{.heads = 2, .kv_heads = 1, .head_dim = 64};
constexpr int kBlockSize = 16;

void launch_layers(cudaStream_t stream) {
  gpu::embed({.hidden = 64}, stream);
  gpu::add_norm({.hidden = 64}, stream);
  gpu::swiglu({.width = 64}, stream);
  gpu::small_gemm({.n = 16, .k = 32}, stream);
  gpu::bias_relu({.width = 64}, stream);
  gpu::argmax({.vocab = 8, .stride = 8}, stream);
  gpu::fill_random({}, stream);
  gpu::fill_constant(gpu::Type::bf16, nullptr, 0, 1.f, stream);
}

void launch_attention(cudaStream_t stream) {
  gpu::compute_rotations({.pairs = 32}, stream);
  gpu::append_kv({.shape = kHeads}, stream);
  gpu::PrefillAttention prefill;
  prefill.shape = kHeads;
  prefill.kv.layout.block_size = kBlockSize;
  gpu::prefill_attention(prefill, stream);
  gpu::DecodeAttention decode;
  decode.shape = kHeads;
  decode.kv.layout.block_size = kBlockSize;
  gpu::plan_decode(decode, stream);
  gpu::decode_attention(decode, stream);
}

}  // namespace

TEST_CASE("no launcher enqueues anything over no rows", "[gpu]") {
  NEEDS_DEVICE;
  CHECK(Captured(launch_layers).nodes() == 0);
  CHECK(Captured(launch_attention).nodes() == 0);
  const auto launch_blocks = [](cudaStream_t stream) {
    gpu::poison_blocks(nullptr, 16, nullptr, 0, stream);
    gpu::checksum_blocks(nullptr, 16, nullptr, 0, nullptr, stream);
  };
  CHECK(Captured(launch_blocks).nodes() == 0);
}

TEST_CASE("gated products over no rows enqueue nothing", "[gpu]") {
  NEEDS_WGMMA;
  CHECK(Captured([](cudaStream_t stream) { gpu::gated_gemm({.n = 8, .k = 8}, stream); }).nodes() ==
        0);
}
