#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "workers/backends/cuda/cuda_device.hpp"

namespace worker {

/// A device as NVML or CUDA describes it. Unknown fields are left empty and not compared.
struct DeviceIdentity {
  std::string name;
  std::int64_t memory_mib = 0;
  std::string form_factor;   // "sxm", "pcie" or "superchip"
  double power_limit_w = 0;  // current limit
  std::string pci_bus_id;
};

/// Identifies an open device: by NVML if available, otherwise by CUDA.
DeviceIdentity identify(const backends::DeviceInfo& info);

/// Reads 'NAME,MiB', e.g. "NVIDIA A100 80GB PCIe,81920". Throws InputError.
DeviceIdentity parse_device(const std::string& text);

/// The SKU of a device: the one profile of dir/gpus/ with a matching name pattern and memory range.
/// Throws InputError when none matches (the message lists name, memory and the profiles' patterns),
/// when several match, or when the match has another form factor or a higher power limit than the
/// card is set to: figures measured on it would be those of another card.
std::string detect_sku(const std::filesystem::path& profiles, const DeviceIdentity& device);

}  // namespace worker
