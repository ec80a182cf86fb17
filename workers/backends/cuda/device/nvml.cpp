#include "workers/backends/cuda/device/nvml.hpp"

#include <array>
#include <limits>

#include "workers/backends/cuda/device/errors.hpp"
#include "workers/backends/cuda/device/symbols.hpp"

namespace backends {
namespace {

// The part of NVML's interface that is used, as its public API reference defines it.
using Return = int;
using Card = struct CardTag*;
constexpr Return kSuccess = 0;
constexpr unsigned kClockSm = 1, kClockMemory = 2, kTemperatureGpu = 0;
struct Memory {
  unsigned long long total, free, used;  // bytes
};
struct Utilization {
  unsigned gpu, memory;  // %
};

struct CloseLibrary {
  void operator()(void* handle) const { dlclose(handle); }
};

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

struct Nvml::Library {
  explicit Library(void* opened) : handle(opened) {}

  std::unique_ptr<void, CloseLibrary> handle;
  void* from = handle.get();
  Symbol<Return()> init{from, "nvmlInit_v2"};
  Symbol<Return()> shutdown{from, "nvmlShutdown"};
  Symbol<const char*(Return)> error_text{from, "nvmlErrorString"};
  Symbol<Return(char*, unsigned)> driver_version{from, "nvmlSystemGetDriverVersion"};
  Symbol<Return(const char*, Card*)> by_bus_id{from, "nvmlDeviceGetHandleByPciBusId_v2"};
  Symbol<Return(Card, char*, unsigned)> name{from, "nvmlDeviceGetName"};
  Symbol<Return(Card, char*, unsigned)> uuid{from, "nvmlDeviceGetUUID"};
  Symbol<Return(Card, Memory*)> memory{from, "nvmlDeviceGetMemoryInfo"};
  Symbol<Return(Card, unsigned*)> power_limit{from, "nvmlDeviceGetEnforcedPowerLimit"};  // mW
  Symbol<Return(Card, unsigned*, unsigned*)> mig_mode{from, "nvmlDeviceGetMigMode"};
  Symbol<Return(Card, unsigned*)> module_id{from, "nvmlDeviceGetModuleId"};
  Symbol<Return(Card, Utilization*)> utilization{from, "nvmlDeviceGetUtilizationRates"};
  Symbol<Return(Card, unsigned, unsigned*)> clock{from, "nvmlDeviceGetClockInfo"};  // MHz
  Symbol<Return(Card, unsigned*)> power{from, "nvmlDeviceGetPowerUsage"};           // mW
  Symbol<Return(Card, unsigned, unsigned*)> temperature{from, "nvmlDeviceGetTemperature"};
  Symbol<Return(Card, unsigned long long*)> throttle_reasons{
      from, "nvmlDeviceGetCurrentClocksThrottleReasons"};
  Symbol<Return(Card, unsigned long long*)> energy{from,
                                                   "nvmlDeviceGetTotalEnergyConsumption"};  // mJ

  bool is_whole() const {
    return init && shutdown && error_text && driver_version && by_bus_id && name && uuid && memory;
  }

  /// The value, or 0 when the driver lacks the call or the card refuses it.
  template <class Value, class... In, class Function>
  Value ask(const Symbol<Function>& function, Card card, In... in) const {
    Value value{};
    if (function == nullptr || function(card, in..., &value) != kSuccess) return Value{};
    return value;
  }
  template <class Function>
  std::string text(const Symbol<Function>& function, Card card) const {
    std::array<char, 128> value{};
    const Return status = function(card, value.data(), static_cast<unsigned>(value.size()));
    return status == kSuccess ? value.data() : "";
  }
  Card at(const std::string& pci_bus_id) const {
    Card card{};
    if (const Return status = by_bus_id(pci_bus_id.c_str(), &card); status != kSuccess)
      throw DeviceError("NVML finds no card at " + pci_bus_id + ": " + error_text(status));
    return card;
  }
};

Nvml::Nvml(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Nvml::~Nvml() { library_->shutdown(); }

std::unique_ptr<Nvml> Nvml::load(std::string& why) {
  void* const opened = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    const char* const text = dlerror();
    why = text != nullptr ? text : "libnvidia-ml.so.1 is not there";
    return nullptr;
  }
  auto library = std::make_unique<Library>(opened);
  if (!library->is_whole()) {
    why = "libnvidia-ml.so.1 lacks calls that every driver since 2018 has";
    return nullptr;
  }
  if (const Return status = library->init(); status != kSuccess) {
    why = library->error_text(status);
    return nullptr;
  }
  return std::make_unique<Nvml>(std::move(library));
}

std::string Nvml::driver_version() const {
  std::array<char, 128> value{};
  const Return status = library_->driver_version(value.data(), static_cast<unsigned>(value.size()));
  return status == kSuccess ? value.data() : "";
}

NvmlCard Nvml::card(const std::string& pci_bus_id) const {
  const Library& nvml = *library_;
  const Card at = nvml.at(pci_bus_id);
  NvmlCard card;
  card.name = nvml.text(nvml.name, at);
  card.uuid = nvml.text(nvml.uuid, at);
  card.driver = driver_version();
  card.memory_mib = static_cast<std::int64_t>(nvml.ask<Memory>(nvml.memory, at).total >> 20);
  card.power_limit_w = nvml.ask<unsigned>(nvml.power_limit, at) * 1e-3;
  unsigned now = 0, next = 0;
  card.mig = nvml.mig_mode != nullptr && nvml.mig_mode(at, &now, &next) == kSuccess && now == 1;
  card.form_factor = form_factor_of(card.name);
  unsigned module = 0;  // only boards on a module carrier have one
  if (card.form_factor.empty() && nvml.module_id != nullptr &&
      nvml.module_id(at, &module) == kSuccess)
    card.form_factor = "sxm";
  return card;
}

NvmlSample Nvml::sample(const std::string& pci_bus_id) const {
  const Library& nvml = *library_;
  const Card at = nvml.at(pci_bus_id);
  const auto load = nvml.ask<Utilization>(nvml.utilization, at);
  return {.memory_used_bytes = static_cast<std::int64_t>(nvml.ask<Memory>(nvml.memory, at).used),
          .gpu_util = static_cast<double>(load.gpu),
          .memory_util = static_cast<double>(load.memory),
          .sm_clock_mhz = nvml.ask<unsigned>(nvml.clock, at, kClockSm) * 1.0,
          .memory_clock_mhz = nvml.ask<unsigned>(nvml.clock, at, kClockMemory) * 1.0,
          .power_w = nvml.ask<unsigned>(nvml.power, at) * 1e-3,
          .temperature_c = nvml.ask<unsigned>(nvml.temperature, at, kTemperatureGpu) * 1.0,
          .throttle_reasons = nvml.ask<unsigned long long>(nvml.throttle_reasons, at)};
}

double Nvml::energy_j(const std::string& pci_bus_id) const {
  Card at{};
  unsigned long long millijoules = 0;
  if (library_->by_bus_id(pci_bus_id.c_str(), &at) == kSuccess)
    millijoules = library_->ask<unsigned long long>(library_->energy, at);
  return millijoules > 0 ? static_cast<double>(millijoules) * 1e-3
                         : std::numeric_limits<double>::quiet_NaN();
}

std::string form_factor_of(const std::string& name) {
  for (const char* chip : {"GH200", "GB200", "GB300"})
    if (contains(name, chip)) return "superchip";
  if (contains(name, "SXM") || contains(name, "HBM3") || name == "NVIDIA H200") return "sxm";
  for (const char* card : {"PCIe", "PCIE", "NVL", "NVIDIA L4", "RTX"})
    if (contains(name, card)) return "pcie";
  return {};
}

}  // namespace backends
