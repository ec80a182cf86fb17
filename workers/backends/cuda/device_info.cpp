#include "workers/backends/cuda/device_info.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>

#include "workers/backends/cuda/device/handles.hpp"

namespace backends {
namespace cuda {
namespace {

std::string pci_bus_id(int ordinal) {
  std::array<char, 32> id{};
  check(cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), ordinal),
        "asking for a device's PCI bus id");
  return id.data();
}

int numa_node(std::string bus_id) {
  std::transform(bus_id.begin(), bus_id.end(), bus_id.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::ifstream file("/sys/bus/pci/devices/" + bus_id + "/numa_node");
  int node = -1;
  return file >> node ? node : -1;
}

}  // namespace

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

DeviceInfo describe_device(int ordinal, const Nvml* nvml) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal), "asking for a device's properties");
  DeviceInfo info;
  info.ordinal = ordinal;
  info.name = properties.name;
  info.pci_bus_id = pci_bus_id(ordinal);
  info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  info.compute_capability = 10 * properties.major + properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.numa_node = numa_node(info.pci_bus_id);
  if (nvml != nullptr) info.card = nvml->card(info.pci_bus_id);
  return info;
}

}  // namespace cuda

CudaProbe probe_cuda() {
  CudaProbe probe;
  probe.built_in = true;
  probe.nccl = nccl_version();
  const auto nvml = Nvml::load(probe.nvml_problem);
  if (nvml) probe.nvml_driver = nvml->driver_version();
  int runtime = 0, driver = 0, count = 0;
  cudaRuntimeGetVersion(&runtime);
  probe.runtime = cuda::cuda_version_text(runtime);
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0)
    probe.driver_cuda = cuda::cuda_version_text(driver);
  try {
    cuda::check(cudaGetDeviceCount(&count), "counting devices");
    for (int i = 0; i < count; ++i) probe.devices.push_back(cuda::describe_device(i, nvml.get()));
    if (count == 0) probe.problem = "no device is visible";
  } catch (const DeviceError& error) {
    probe.problem = error.what();
  }
  return probe;
}

}  // namespace backends
