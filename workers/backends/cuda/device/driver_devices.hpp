#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workers/backends/cuda/device/nvml.hpp"

namespace backends {

struct DeviceInfo {
  int ordinal = 0;         // among the devices that CUDA shows this process
  std::string name;        // CUDA's name of the device
  std::string pci_bus_id;  // "0000:19:00.0"
  std::int64_t memory_bytes = 0;
  int compute_capability = 0;  // 90 is 9.0
  int multiprocessors = 0;
  int numa_node = -1;            // negative: unknown
  std::optional<NvmlCard> card;  // the same card, by its PCI bus id; empty without NVML
};

/// The devices that NVIDIA's driver shows this process, CUDA_VISIBLE_DEVICES included.
struct DriverDevices {
  std::string cuda;     // "13.0", the newest CUDA that the driver serves; empty without a driver
  std::string problem;  // why there are no devices
  std::vector<DeviceInfo> devices;
};

/// Asks the driver's library, which is loaded at run time: programs built without CUDA see the same
/// devices as those built with it. Opens no device. `nvml` may be null. Throws DeviceError when
/// NVML does not know a device of the driver.
DriverDevices list_driver_devices(const Nvml* nvml);

/// "13.0" of CUDA's number 13000.
std::string cuda_version_text(int version);

}  // namespace backends
