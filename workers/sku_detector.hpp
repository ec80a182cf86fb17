#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace worker {

/// A device as NVML or CUDA describes it.
struct DeviceIdentity {
  std::string name;
  std::int64_t memory_mib = 0;
};

/// Reads 'NAME,MiB', e.g. "NVIDIA A100 80GB PCIe,81920". Throws InputError.
DeviceIdentity parse_device(const std::string& text);

/// The SKU that a device is: the one profile of dir/gpus/ whose name pattern and memory range fit.
/// Throws InputError when none fits (the message lists name, memory and the profiles' patterns) or
/// more than one does.
std::string detect_sku(const std::filesystem::path& profiles, const DeviceIdentity& device);

}  // namespace worker
