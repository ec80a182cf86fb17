#include "workers/sku_detector.hpp"

#include <charconv>
#include <vector>

#include "workers/engine/errors.hpp"
#include "workers/profiles.hpp"

namespace worker {

using engine::InputError;

DeviceIdentity parse_device(const std::string& text) {
  const std::size_t comma = text.rfind(',');
  DeviceIdentity device;
  if (comma != std::string::npos && comma > 0) {
    device.name = text.substr(0, comma);
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + comma + 1, end, device.memory_mib);
    if (error == std::errc() && stop == end && device.memory_mib > 0) return device;
  }
  throw InputError("a device is written 'NAME,MiB', e.g. 'NVIDIA H200,143771'; found '" + text +
                   "'");
}

std::string detect_sku(const std::filesystem::path& profiles, const DeviceIdentity& device) {
  const std::string found =
      "device '" + device.name + "' with " + std::to_string(device.memory_mib) + " MiB";
  std::vector<std::string> fitting;
  std::string known;
  for (const std::string& name : profile_names(profiles / "gpus")) {
    const backends::GpuProfile gpu = load_gpu_profile(profiles, name);
    if (backends::is_device(gpu, device.name, device.memory_mib)) fitting.push_back(name);
    known += "\n  " + name + ": " + gpu.name_pattern + ", " + std::to_string(gpu.memory_min_mib) +
             " to " + std::to_string(gpu.memory_max_mib) + " MiB";
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty()) throw InputError(found + " fits no GPU profile; known are:" + known);
  throw InputError(found + " fits both " + fitting[0] + " and " + fitting[1]);
}

}  // namespace worker
