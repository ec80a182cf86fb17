#include "workers/backends/cuda/cuda_device.hpp"
#include "workers/engine/base/errors.hpp"

namespace backends {
namespace {

engine::InputError not_built_in() {
  return engine::InputError(
      "this program was built without CUDA: the cuda backend needs nvcc when kvsweep is built");
}

}  // namespace

std::unique_ptr<CudaDevice> open_cuda_device(int, const std::filesystem::path&) {
  throw not_built_in();
}

std::string cuda_runtime_version() { return {}; }

}  // namespace backends
