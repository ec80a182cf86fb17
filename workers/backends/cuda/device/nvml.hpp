#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace backends {

/// A card as NVML describes it.
struct NvmlCard {
  std::string name;
  std::string uuid;
  std::string driver;
  std::int64_t memory_mib = 0;
  double power_limit_w = 0;  // current; 0 when the card does not report it
  bool mig = false;          // the card is split into MIG instances
  std::string form_factor;   // "sxm" or "pcie"; empty when neither name nor module tells
};

/// The state of a card at one instant.
struct NvmlSample {
  std::int64_t memory_used_bytes = 0;
  double gpu_util = 0;     // share of the last sampling period in which a kernel ran, %
  double memory_util = 0;  // share of it in which device memory was read or written, %
  double sm_clock_mhz = 0;
  double memory_clock_mhz = 0;
  double power_w = 0;
  double temperature_c = 0;
  std::uint64_t throttle_reasons = 0;  // NVML's bit mask
};

/// The management library of NVIDIA's driver, loaded at run time, so that programs that use it also
/// start without a driver.
class Nvml {
  struct Library;

 public:
  /// Null, with the reason in `why`, when the library is missing or refuses.
  static std::unique_ptr<Nvml> load(std::string& why);
  explicit Nvml(std::unique_ptr<Library> library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;
  /// Throws DeviceError when there is no such card. `pci_bus_id` as CUDA writes it: "0000:19:00.0".
  NvmlCard card(const std::string& pci_bus_id) const;
  /// Figures that the card does not report are 0.
  NvmlSample sample(const std::string& pci_bus_id) const;
  /// Joules that the card has used since its driver was loaded; NaN where it does not say, as cards
  /// before Volta.
  double energy_j(const std::string& pci_bus_id) const;

 private:
  std::unique_ptr<Library> library_;
};

/// "sxm" or "pcie" from a marketing name: "A100-SXM4-40GB", "A100 80GB PCIe", "L40S". SXM boards of
/// the H series have HBM3 or nothing behind the name, PCIe boards have PCIe or NVL. Empty when the
/// name does not tell.
std::string form_factor_of(const std::string& name);

}  // namespace backends
