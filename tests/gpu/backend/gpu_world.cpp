#include "tests/gpu/backend/gpu_world.hpp"

namespace gpu_backend_test {
std::string no_device() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) return std::string("no CUDA device: ") + cudaGetErrorString(code);
  return count > 0 ? "" : "no CUDA device";
}

model::ModelConfig small_model(model::Architecture architecture, model::DType dtype, int head_dim) {
  const bool llama = architecture == model::Architecture::llama;
  model::ModelConfig config;
  config.architecture = architecture;
  config.dtype = dtype;
  model::ModelShape& shape = config.shape;
  shape.name = llama ? "small-llama" : "small-opt";
  shape.layers = 3;
  shape.hidden = 128;
  shape.heads = 4;
  shape.kv_heads = llama ? 2 : 4;
  shape.head_dim = head_dim;
  shape.intermediate = 320;
  shape.vocab = 517;
  shape.max_context = 2048;
  shape.dtype_bytes = 2;
  shape.gated_mlp = llama;
  shape.tied_embeddings = !llama;
  shape.biases = !llama;
  shape.learned_positions = llama ? 0 : shape.max_context + 2;
  return config;
}

backends::cuda::DeviceWeights on_device(const model::ModelConfig& config) {
  const auto source = model::random_weights(config, 1);
  return {config, {.source = *source, .seed = 1, .group = {}}};
}

backends::CudaCellOptions small_cell(int blocks, int block_size) {
  backends::CudaCellOptions options;
  options.block_size = block_size;
  options.max_batched_tokens = 512;
  options.max_seqs = 32;
  options.max_model_len = 2048;
  options.pool.kv_tokens = std::int64_t{blocks} * block_size;
  options.debug = true;
  return options;
}

std::unique_ptr<backends::cuda::GpuBackend> make_backend(
    const backends::cuda::DeviceWeights& weights, const backends::CudaCellOptions& options) {
  static backends::cuda::GemmTable nothing_measured;
  auto backend =
      std::make_unique<backends::cuda::GpuBackend>(0, weights, options, nothing_measured);
  backend->take_pool(plan_pool(options.pool, {}, backend->block_bytes(), options.block_size));
  return backend;
}

engine::Request& Steps::request(Tokens prompt, const std::vector<std::uint32_t>& blocks) {
  const Tokens& tokens = prompts_.emplace_back(std::move(prompt));
  engine::Request& request = requests_.emplace_back();
  request.id = engine::RequestId{static_cast<std::uint32_t>(requests_.size() - 1)};
  request.spec.prompt = tokens;
  for (const std::uint32_t block : blocks) request.blocks.push_back(engine::BlockId{block});
  return request;
}

const engine::StepPlan& Steps::step(std::initializer_list<Share> shares) {
  ++plan_.step;
  plan_.scheduled.clear();
  plan_.total_tokens = 0;
  for (const Share& share : shares) {
    plan_.total_tokens += share.end - share.first;
    plan_.scheduled.push_back({.request = &share.request,
                               .kind = engine::SchedKind::running,
                               .num_tokens = share.end - share.first,
                               .computed_before = share.first,
                               .num_new_blocks = share.new_blocks,
                               .samples = share.end == share.request.num_tokens(),
                               .decode = share.decode});
  }
  return plan_;
}

Tokens some_tokens(int count, int vocab, int seed) {
  Tokens all;
  for (int i = 0; i < count; ++i)
    all.push_back(static_cast<engine::TokenId>((seed + 37 * i + i * i % 11) % vocab));
  return all;
}

std::vector<std::uint32_t> blocks_from(std::uint32_t first, int count) {
  std::vector<std::uint32_t> all;
  for (int i = 0; i < count; ++i) all.push_back(first + static_cast<std::uint32_t>(i));
  return all;
}

backends::PageLocking cuda_locking() {
  return {.lock =
              [](std::byte* data, std::size_t bytes) {
                backends::cuda::check(cudaHostRegister(data, bytes, cudaHostRegisterPortable),
                                      "locking");
              },
          .unlock = [](std::byte* data) { cudaHostUnregister(data); }};
}

}  // namespace gpu_backend_test
