#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workers/backends/cuda/device/driver_devices.hpp"
#include "workers/backends/cuda/device/telemetry.hpp"
#include "workers/backends/cuda/forward/weights.hpp"
#include "workers/model/config.hpp"

/// The interface of the cuda backend to the rest of the program. Needs no CUDA headers. In a
/// program built without CUDA, opening a device throws.
namespace backends {

class CudaCell;
struct CudaCellOptions;

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
  /// As Nvml::energy_j(); NaN without NVML.
  virtual double energy_j() const = 0;
};

/// Throws engine::InputError when there is no such device, when the card is split by MIG, when the
/// program was built without CUDA, or when `cache` holds an invalid file. `cache` is the folder for
/// measured algorithms of matrix products; when it is empty, every process measures them.
std::unique_ptr<CudaDevice> open_cuda_device(int ordinal, const std::filesystem::path& cache = {});

/// CUDA's runtime in this program, "13.0"; empty when the program was built without CUDA.
std::string cuda_runtime_version();

/// Describes what is available, for reports and for servers, which need no CUDA in this program.
/// Never throws when something is missing.
struct CudaProbe {
  std::string runtime;       // as cuda_runtime_version()
  std::string nvml_driver;   // "580.159.04"; empty without NVML
  std::string nvml_problem;  // why there is no NVML
  std::string nccl;          // version; empty when not built in
  DriverDevices driver;
};
CudaProbe probe_cuda();

}  // namespace backends
