#include "workers/backends/cuda/cuda_device.hpp"
#include "workers/engine/errors.hpp"

namespace backends {

std::unique_ptr<CudaDevice> open_cuda_device(int) {
  throw engine::InputError(
      "this program was built without CUDA: the cuda backend needs nvcc when kvsweep is built");
}

CudaProbe probe_cuda() {
  CudaProbe probe;
  probe.problem = "this program was built without CUDA";
  probe.nccl = nccl_version();
  if (const auto nvml = Nvml::load(probe.nvml_problem)) probe.nvml_driver = nvml->driver_version();
  return probe;
}

}  // namespace backends
