#pragma once
#include <deque>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "workers/backends/cuda/device/host_memory.hpp"
#include "workers/backends/cuda/forward/device_weights.hpp"
#include "workers/backends/cuda/gpu_backend.hpp"
#include "workers/engine/step/step.hpp"

/// Common parts of the tests of the cuda backend: small models, hand-written steps.
namespace gpu_backend_test {

using Tokens = std::vector<engine::TokenId>;

/// Why the tests cannot run here; empty if there is a device.
std::string no_device();
#define NEEDS_DEVICE \
  if (const std::string reason = gpu_backend_test::no_device(); !reason.empty()) SKIP_TEST(reason)

/// A transformer of few layers with heads that the kernels support.
model::ModelConfig small_model(model::Architecture architecture, model::DType dtype,
                               int head_dim = 64);

/// Weights of seed 1, on device 0.
backends::cuda::DeviceWeights on_device(const model::ModelConfig& config);

/// Limits large enough for the steps of tests, and a pool of `blocks` blocks besides the null
/// block.
backends::CudaCellOptions small_cell(int blocks, int block_size = 16);

/// A backend with its pool.
std::unique_ptr<backends::cuda::GpuBackend> make_backend(
    const backends::cuda::DeviceWeights& weights, const backends::CudaCellOptions& options);

/// Hand-written steps.
class Steps {
 public:
  /// A request with these tokens in these blocks.
  engine::Request& request(Tokens prompt, const std::vector<std::uint32_t>& blocks);

  struct Share {
    engine::Request& request;
    int first, end;  // positions to compute
    bool decode = false;
    int new_blocks = 0;
  };
  const engine::StepPlan& step(std::initializer_list<Share> shares);

 private:
  std::deque<Tokens> prompts_;
  std::deque<engine::Request> requests_;
  engine::StepPlan plan_;
};

/// `count` tokens of a vocabulary.
Tokens some_tokens(int count, int vocab, int seed = 0);
/// Blocks first, first + 1, ...
std::vector<std::uint32_t> blocks_from(std::uint32_t first, int count);

/// Page-locks with CUDA, as a device's host tier does.
backends::PageLocking cuda_locking();

}  // namespace gpu_backend_test
