#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workers/backends/cuda/cuda_cell.hpp"
#include "workers/backends/cuda/nvml.hpp"
#include "workers/backends/cuda/telemetry.hpp"
#include "workers/backends/cuda/weights.hpp"
#include "workers/model/config.hpp"

/// Everything of the cuda backend that the rest of the program sees. Nothing here needs CUDA's
/// headers; in a program built without CUDA, opening a device throws.
namespace backends {

struct DeviceInfo {
  int ordinal = 0;         // among the devices that CUDA shows this process
  std::string name;        // as CUDA says it
  std::string pci_bus_id;  // "0000:19:00.0"
  std::int64_t memory_bytes = 0;
  int compute_capability = 0;  // 90 is 9.0
  int multiprocessors = 0;
  int numa_node = -1;            // negative: unknown
  std::optional<NvmlCard> card;  // the same card, found by its PCI bus id; empty without NVML
};

/// One GPU of this process: its context, the weights of one model, host memory for KV. Lives longer
/// than a cell. Calls come from one thread at a time.
class CudaDevice {
 public:
  virtual ~CudaDevice() = default;
  virtual const DeviceInfo& info() const = 0;

  /// Puts a model's weights into device memory, in place of another model's. What is there already
  /// is kept: the report then says so with seconds = 0. No cell may be alive.
  virtual WeightsReport load_weights(const model::ModelConfig& config,
                                     const WeightOrigin& origin) = 0;

  /// Takes activations, warms every kernel up, sizes and takes the KV pool, and reserves the host
  /// tier; its slots become ready in the background. Weights must be loaded. One cell at a time.
  /// Throws engine::InputError, DeviceOutOfMemory (a smaller cell may still fit) and DeviceLost.
  virtual std::unique_ptr<CudaCell> make_cell(const CudaCellOptions& options) = 0;

  /// Frees the host tier's memory, which otherwise stays for later cells. No cell may be alive.
  virtual void give_back_host_memory() noexcept = 0;

  /// Samples of the card once a second from now on; null without NVML.
  virtual std::unique_ptr<TelemetrySampler> start_telemetry() = 0;
};

/// Throws engine::InputError when there is no such device, the card is split by MIG, or the program
/// was built without CUDA. `cache` is the folder where measured algorithms of matrix products are
/// kept; empty: they are measured by every process. Throws engine::InputError, also for a file
/// there that is none of them.
std::unique_ptr<CudaDevice> open_cuda_device(int ordinal, const std::filesystem::path& cache = {});

/// What there is, for reports; never throws for what is missing.
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
