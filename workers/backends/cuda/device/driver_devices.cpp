#include "workers/backends/cuda/device/driver_devices.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>

#include "workers/backends/cuda/device/errors.hpp"
#include "workers/backends/cuda/device/symbols.hpp"

namespace backends {
namespace {

// The part of the driver's interface that is used, as NVIDIA's reference of the driver API
// defines it.
struct Driver {
  using Status = int;
  using Ordinal = int;
  static constexpr Status kOk = 0;
  static constexpr int kMultiprocessors = 16, kCapabilityMajor = 75, kCapabilityMinor = 76;

  void* library;
  Symbol<Status(unsigned)> init{library, "cuInit"};
  Symbol<Status(int*)> version{library, "cuDriverGetVersion"};
  Symbol<Status(int*)> count{library, "cuDeviceGetCount"};
  Symbol<Status(Status, const char**)> error_text{library, "cuGetErrorString"};
  Symbol<Status(Ordinal*, int)> device{library, "cuDeviceGet"};
  Symbol<Status(char*, int, Ordinal)> name{library, "cuDeviceGetName"};
  Symbol<Status(std::size_t*, Ordinal)> memory{library, "cuDeviceTotalMem_v2"};
  Symbol<Status(int*, int, Ordinal)> attribute{library, "cuDeviceGetAttribute"};
  Symbol<Status(char*, int, Ordinal)> bus_id{library, "cuDeviceGetPCIBusId"};

  bool is_whole() const {
    return init && version && count && error_text && device && name && memory && attribute &&
           bus_id;
  }
  std::string text_of(Status status) const {
    const char* text = nullptr;
    if (error_text(status, &text) == kOk && text != nullptr) return text;
    return "error " + std::to_string(status);
  }
  int value(int attribute_number, Ordinal device_handle) const {
    int value = 0;
    return attribute(&value, attribute_number, device_handle) == kOk ? value : 0;
  }
};

int numa_node_of(std::string bus_id) {
  std::transform(bus_id.begin(), bus_id.end(), bus_id.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::ifstream file("/sys/bus/pci/devices/" + bus_id + "/numa_node");
  int node = -1;
  return file >> node ? node : -1;
}

DeviceInfo describe(const Driver& driver, int ordinal, const Nvml* nvml) {
  Driver::Ordinal device{};
  if (const Driver::Status status = driver.device(&device, ordinal); status != Driver::kOk)
    throw DeviceError("the driver does not show device " + std::to_string(ordinal) + ": " +
                      driver.text_of(status));
  std::array<char, 256> name{};
  std::array<char, 32> bus_id{};
  std::size_t bytes = 0;
  driver.name(name.data(), static_cast<int>(name.size()), device);
  driver.memory(&bytes, device);
  if (driver.bus_id(bus_id.data(), static_cast<int>(bus_id.size()), device) != Driver::kOk)
    throw DeviceError("the driver does not tell the PCI bus id of device " +
                      std::to_string(ordinal));
  DeviceInfo info;
  info.ordinal = ordinal;
  info.name = name.data();
  info.pci_bus_id = bus_id.data();
  info.memory_bytes = static_cast<std::int64_t>(bytes);
  info.compute_capability = 10 * driver.value(Driver::kCapabilityMajor, device) +
                            driver.value(Driver::kCapabilityMinor, device);
  info.multiprocessors = driver.value(Driver::kMultiprocessors, device);
  info.numa_node = numa_node_of(info.pci_bus_id);
  if (nvml != nullptr) info.card = nvml->card(info.pci_bus_id);
  return info;
}

}  // namespace

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

DriverDevices list_driver_devices(const Nvml* nvml) {
  DriverDevices found;
  // Never closed: the driver does not support being unloaded.
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const Driver driver{library};
  if (library == nullptr || !driver.is_whole()) {
    found.problem = "NVIDIA's driver (libcuda.so.1) is not installed here";
    return found;
  }
  int version = 0, count = 0;
  if (driver.version(&version) == Driver::kOk && version > 0)
    found.cuda = cuda_version_text(version);
  Driver::Status status = driver.init(0);
  if (status == Driver::kOk) status = driver.count(&count);
  if (status != Driver::kOk)
    found.problem = driver.text_of(status);
  else if (count == 0)
    found.problem = "no device is visible";
  for (int i = 0; i < count; ++i) found.devices.push_back(describe(driver, i, nvml));
  return found;
}

}  // namespace backends
