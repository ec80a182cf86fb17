#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "workers/backends/cuda/cuda_device.hpp"

namespace worker {

/// A device as NVML or CUDA describes it. What is unknown is left empty and not compared.
struct DeviceIdentity {
  std::string name;
  std::int64_t memory_mib = 0;
  std::string form_factor;   // "sxm" or "pcie"
  double power_limit_w = 0;  // in force
  std::string pci_bus_id;
};

/// The card behind a device that was opened: NVML's words where NVML is there, else CUDA's.
DeviceIdentity identify(const backends::DeviceInfo& info);

/// Reads 'NAME,MiB', e.g. "NVIDIA A100 80GB PCIe,81920". Throws InputError.
DeviceIdentity parse_device(const std::string& text);

/// The SKU that a device is: the one profile of dir/gpus/ whose name pattern and memory range fit.
/// Throws InputError when none fits (the message lists name, memory and the profiles' patterns),
/// more than one does, or the one that fits has another form factor or a power limit that the card
/// is kept below: measured on it, figures would be another card's.
std::string detect_sku(const std::filesystem::path& profiles, const DeviceIdentity& device);

}  // namespace worker
