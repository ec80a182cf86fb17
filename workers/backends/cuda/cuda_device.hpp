#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workers/backends/access_log.hpp"
#include "workers/backends/cuda/device/driver_devices.hpp"
#include "workers/backends/cuda/device/host_memory.hpp"
#include "workers/backends/cuda/device/pool_plan.hpp"
#include "workers/backends/cuda/device/telemetry.hpp"
#include "workers/backends/cuda/forward/weights.hpp"
#include "workers/engine/step/backend.hpp"
#include "workers/engine/step/block_copier.hpp"
#include "workers/model/config.hpp"

/// The interface of the cuda backend to the rest of the program. Needs no CUDA headers. In a
/// program built without CUDA, opening a device throws.
namespace backends {

/// Where attention reads the keys and values of a whole prompt: from its blocks, or from the rows
/// that the projection has just written. Chunks and decodes always read blocks.
enum class PrefillAttention : std::uint8_t { paged, contiguous };

struct CudaCellOptions {
  int block_size = 16;            // tokens; a multiple of 8 up to 1024
  int max_batched_tokens = 2048;  // of a step
  int max_seqs = 256;             // of a step
  int max_model_len = 16384;      // tokens
  PoolRequest pool;
  int host_slots = 0;       // blocks of the host tier; 0: no tier
  bool host_pinned = true;  // page-locked, otherwise pageable
  PrefillAttention prefill_attention = PrefillAttention::paged;
  bool fp8_kv = false;  // KV of e4m3 with scale 1, otherwise of the weights' type; paged alone
  /// Replay decode-only steps as a graph of their kernels; otherwise launch kernels one by one.
  bool graphs = true;
  /// Measure the algorithms of matrix products that the device's table lacks; otherwise leave the
  /// choice to the library.
  bool tune = false;
  /// Poison blocks when they are allocated and before they are loaded, and compare checksums of
  /// loads and stores (CorruptBlock).
  bool debug = false;
  std::optional<AccessLogOptions> access_log = {};  // of the KV cache; empty: no log
  /// Returning true skips the first block of a batch, so that tests can show that this is detected.
  std::function<bool(engine::CopyId)> skip_copy;
};

/// Breakdown of the time of steps, in seconds.
struct StepCost {
  double prepare = 0;  // host: arrays of the step
  double launch = 0;   // host: enqueuing the copy and kernels
  double device = 0;   // from the copy of the arrays to the sampled ids
  double wait = 0;     // host: from the last launch until the sampled ids arrive
};

/// One cell's resources on a device: steps, KV pool and copies to the host tier. Ends with the
/// cell; weights and host memory stay with the device.
class CudaCell {
 public:
  virtual ~CudaCell() = default;
  virtual engine::Backend& backend() = 0;
  /// Null without a host tier.
  virtual engine::BlockCopier* copier() = 0;
  /// Null without a host tier.
  virtual HostMemory* host_memory() = 0;
  virtual const PoolPlan& pool() const = 0;
  virtual std::int64_t activation_bytes() const = 0;
  virtual const StepCost& steps() const = 0;
  /// Null without an access log.
  virtual AccessLogger* access_log() = 0;
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
