#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workers/backends/cuda/device/nvml.hpp"
#include "workers/backends/cuda/device/telemetry.hpp"
#include "workers/backends/cuda/forward/weights.hpp"
#include "workers/model/config.hpp"

/// The interface of the cuda backend to the rest of the program. Needs no CUDA headers. In a
/// program built without CUDA, opening a device throws.
namespace backends {

class CudaCell;
struct CudaCellOptions;

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

/// One GPU of this process: its context, the weights of one model, and host memory for KV. Outlives
/// cells. Must be called from one thread at a time.
class CudaDevice {
 public:
  virtual ~CudaDevice() = default;
  virtual const DeviceInfo& info() const = 0;

  /// Loads a model's weights into device memory, replacing another model's. Weights that are
  /// already loaded are kept, and the report then has seconds = 0. No cell may exist.
  virtual WeightsReport load_weights(const model::ModelConfig& config,
                                     const WeightOrigin& origin) = 0;

  /// Allocates activations, warms up every kernel, sizes and allocates the KV pool, and reserves
  /// the host tier, with slots that become ready in the background. Weights must be loaded. One
  /// cell at a time. Throws engine::InputError, DeviceOutOfMemory (a smaller cell may still fit)
  /// and DeviceLost.
  virtual std::unique_ptr<CudaCell> make_cell(const CudaCellOptions& options) = 0;

  /// Frees the host tier's memory, which is otherwise kept for later cells. No cell may exist.
  virtual void free_host_memory() noexcept = 0;

  /// Starts sampling the card once per second; null without NVML.
  virtual std::unique_ptr<TelemetrySampler> start_telemetry() = 0;
};

/// Throws engine::InputError when there is no such device, when the card is split by MIG, when the
/// program was built without CUDA, or when `cache` holds an invalid file. `cache` is the folder for
/// measured algorithms of matrix products; when it is empty, every process measures them.
std::unique_ptr<CudaDevice> open_cuda_device(int ordinal, const std::filesystem::path& cache = {});

/// Describes what is available, for reports. Never throws when something is missing.
struct CudaProbe {
  bool built_in = false;     // this program has the cuda backend
  std::string runtime;       // "13.0", CUDA's runtime in this program
  std::string driver_cuda;   // "13.0", the newest CUDA that the driver serves; empty without one
  std::string nvml_driver;   // "580.159.04"; empty without NVML
  std::string problem;       // why there are no devices
  std::string nvml_problem;  // why there is no NVML
  std::string nccl;          // version; empty when not built in
  std::vector<DeviceInfo> devices;
};
CudaProbe probe_cuda();

}  // namespace backends
