#include "workers/backends/cuda/cuda_device.hpp"
#include "workers/backends/cuda/device/errors.hpp"

namespace backends {

CudaProbe probe_cuda() {
  CudaProbe probe;
  probe.runtime = cuda_runtime_version();
  probe.nccl = nccl_version();
  const auto nvml = Nvml::load(probe.nvml_problem);
  if (nvml) probe.nvml_driver = nvml->driver_version();
  try {
    probe.driver = list_driver_devices(nvml.get());
  } catch (const DeviceError& error) {
    probe.driver.problem = error.what();
  }
  return probe;
}

}  // namespace backends
