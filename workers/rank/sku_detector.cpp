#include "workers/rank/sku_detector.hpp"

#include <vector>

#include "workers/engine/base/errors.hpp"
#include "workers/profiles/profiles.hpp"

namespace worker {

using engine::InputError;

namespace {

/// Boards are sold with limits that differ by a few watts.
constexpr double kLeastShareOfPower = 0.95;

std::string watts(double power) { return std::to_string(static_cast<int>(power)) + " W"; }

void check_board(const backends::GpuProfile& gpu, const DeviceIdentity& device,
                 const std::string& found) {
  const std::string where = device.pci_bus_id.empty() ? "" : " at " + device.pci_bus_id;
  if (!device.form_factor.empty() && device.form_factor != gpu.form_factor)
    throw InputError(found + where + " is a card of form factor " + device.form_factor + ", " +
                     gpu.name + " is " + gpu.form_factor);
  if (device.power_limit_w > 0 && device.power_limit_w < kLeastShareOfPower * gpu.power_limit_w)
    throw InputError(found + where + " is limited to " + watts(device.power_limit_w) + ", " +
                     gpu.name + " has " + watts(gpu.power_limit_w) +
                     ": its figures would not be those of the SKU");
}

}  // namespace

DeviceIdentity identify(const backends::DeviceInfo& info) {
  DeviceIdentity device;
  device.name = info.name;
  device.memory_mib = info.memory_bytes >> 20;
  device.pci_bus_id = info.pci_bus_id;
  if (!info.card) return device;
  device.name = info.card->name;
  device.memory_mib = info.card->memory_mib;
  device.form_factor = info.card->form_factor;
  device.power_limit_w = info.card->power_limit_w;
  return device;
}

DeviceIdentity parse_device(const std::string& text) {
  const std::size_t comma = text.rfind(',');
  DeviceIdentity device;
  if (comma != std::string::npos && comma > 0) {
    device.name = text.substr(0, comma);
    device.memory_mib = sweep::number_from<std::int64_t>(text.substr(comma + 1)).value_or(0);
    if (device.memory_mib > 0) return device;
  }
  throw InputError("a device is written 'NAME,MiB', e.g. 'NVIDIA H200,143771'; found '" + text +
                   "'");
}

std::string detect_sku(const std::filesystem::path& profiles, const DeviceIdentity& device) {
  const std::string found =
      "device '" + device.name + "' with " + std::to_string(device.memory_mib) + " MiB";
  std::vector<backends::GpuProfile> fitting;
  std::string known;
  for (const std::string& name : profile_names(profiles / "gpus")) {
    const backends::GpuProfile gpu = load_gpu_profile(profiles, name);
    if (backends::is_device(gpu, device.name, device.memory_mib)) fitting.push_back(gpu);
    known += "\n  " + name + ": " + gpu.name_pattern + ", " + std::to_string(gpu.memory_min_mib) +
             " to " + std::to_string(gpu.memory_max_mib) + " MiB";
  }
  if (fitting.size() == 1) {
    check_board(fitting.front(), device, found);
    return fitting.front().name;
  }
  if (fitting.empty()) throw InputError(found + " fits no GPU profile; known are:" + known);
  throw InputError(found + " fits both " + fitting[0].name + " and " + fitting[1].name);
}

}  // namespace worker
