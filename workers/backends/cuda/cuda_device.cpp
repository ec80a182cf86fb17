#include "workers/backends/cuda/cuda_device.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

#include "workers/backends/cuda/cuda_copier.hpp"
#include "workers/backends/cuda/device/cublas_lt.hpp"
#include "workers/backends/cuda/device/handles.hpp"
#include "workers/backends/cuda/forward/device_weights.hpp"
#include "workers/backends/cuda/forward/gemm_table.hpp"
#include "workers/backends/cuda/gpu_backend.hpp"
#include "workers/engine/base/errors.hpp"

namespace backends {
namespace cuda {
namespace {

/// Page-locks memory for all contexts of this process.
PageLocking page_locking(int device) {
  return {.lock =
              [device](std::byte* data, std::size_t bytes) {
                check(cudaSetDevice(device), "choosing the device");
                check(cudaHostRegister(data, bytes, cudaHostRegisterPortable),
                      "page-locking memory of the host tier");
              },
          .unlock = [](std::byte* data) { cudaHostUnregister(data); }};
}

std::string gemm_library() { return "cublasLt " + std::to_string(cublas_lt().GetVersion()); }

DeviceMemoryUse memory_use() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free device memory");
  return {.total = static_cast<std::int64_t>(total),
          .used = static_cast<std::int64_t>(total - free)};
}

class Cell final : public CudaCell {
 public:
  Cell(int device, const DeviceWeights& weights, const CudaCellOptions& options, HostMemory* tier,
       GemmTable& gemms)
      : options_(options), tier_(tier), backend_(device, weights, options, gemms) {
    backend_.warm_up();
    if (options.tune) backend_.tune();
    gemms.save();
    pool_ = plan_pool(options.pool, memory_use(), backend_.block_bytes(), options.block_size);
    backend_.take_pool(pool_);
    backend_.start_access_log(pool_.num_blocks);
    backend_.record_graphs();
    if (tier_ == nullptr) return;
    tier_->reserve(options.host_slots, static_cast<std::size_t>(backend_.block_bytes()));
    copier_.emplace(device, BlockArena{backend_.arena(), backend_.block_bytes()}, *tier_,
                    backend_.fence(), CudaCopier::Options{options.debug, options.skip_copy});
  }

  engine::Backend& backend() override { return backend_; }
  engine::BlockCopier* copier() override { return copier_ ? &*copier_ : nullptr; }
  HostMemory* host_memory() override { return tier_; }
  const PoolPlan& pool() const override { return pool_; }
  std::int64_t activation_bytes() const override { return backend_.activation_bytes(); }
  const StepCost& steps() const override { return backend_.all_steps(); }
  AccessLogger* access_log() override { return backend_.access_log(); }

 private:
  CudaCellOptions options_;
  HostMemory* tier_;
  GpuBackend backend_;
  PoolPlan pool_;
  std::optional<CudaCopier> copier_;  // declared after the pool that it copies from
};

class Device final : public CudaDevice {
 public:
  Device(DeviceInfo info, std::unique_ptr<Nvml> nvml, const std::filesystem::path& cache)
      : nvml_(std::move(nvml)),
        info_(std::move(info)),
        gemms_(cache.empty() ? GemmTable() : GemmTable(cache, info_.name, gemm_library())) {}

  const DeviceInfo& info() const override { return info_; }

  WeightsReport load_weights(const model::ModelConfig& config,
                             const WeightOrigin& origin) override {
    const std::string key =
        config.shape.name + ' ' + to_text(config.dtype) + ' ' + origin.source.digest();
    if (weights_ && key == weights_key_)
      return {.bytes = weights_->report().bytes, .seconds = 0, .broadcast = {}};
    check(cudaSetDevice(info_.ordinal), "choosing the device");
    weights_.reset();  // two models rarely fit at once
    weights_.emplace(config, origin);
    weights_key_ = key;
    return weights_->report();
  }

  std::unique_ptr<CudaCell> make_cell(const CudaCellOptions& options) override {
    if (!weights_) throw std::logic_error("a cell was asked for before any weights were loaded");
    check(cudaSetDevice(info_.ordinal), "choosing the device");
    const bool has_tier = options.host_slots > 0;
    if (has_tier) make_tier(options.host_pinned);
    try {
      return std::make_unique<Cell>(info_.ordinal, *weights_, options,
                                    has_tier ? tier_.get() : nullptr, gemms_);
    } catch (...) {
      if (tier_ && tier_->failed()) tier_.reset();  // the next cell may reserve less
      throw;
    }
  }

  void free_host_memory() noexcept override { tier_.reset(); }

  std::unique_ptr<TelemetrySampler> start_telemetry() override {
    if (!nvml_) return nullptr;
    return std::make_unique<TelemetrySampler>([this] { return nvml_->sample(info_.pci_bus_id); },
                                              std::chrono::seconds(1));
  }

  double energy_j() const override {
    return nvml_ ? nvml_->energy_j(info_.pci_bus_id) : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  /// Keeps the tier of an earlier cell if it is of this kind.
  void make_tier(bool pinned) {
    if (tier_ && tier_->asynchronous() == pinned) return;
    tier_.reset();  // two tiers rarely fit at once
    tier_ = std::make_unique<HostMemory>(pinned ? page_locking(info_.ordinal) : PageLocking{},
                                         HostMemoryOptions{.numa_node = info_.numa_node});
  }

  std::unique_ptr<Nvml> nvml_;
  DeviceInfo info_;
  GemmTable gemms_;
  std::optional<DeviceWeights> weights_;
  std::string weights_key_;
  std::unique_ptr<HostMemory> tier_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<CudaDevice> open_cuda_device(int ordinal, const std::filesystem::path& cache) {
  std::string no_nvml;
  auto nvml = Nvml::load(no_nvml);
  DriverDevices visible = list_driver_devices(nvml.get());
  const auto count = static_cast<int>(visible.devices.size());
  if (ordinal < 0 || ordinal >= count)
    throw engine::InputError(
        "there is no CUDA device " + std::to_string(ordinal) + ": " +
        (count == 0 ? visible.problem : std::to_string(count) + " are visible"));
  cuda::check(cudaSetDevice(ordinal), "choosing the device");
  DeviceInfo info = std::move(visible.devices[static_cast<std::size_t>(ordinal)]);
  if (info.card && info.card->mig)
    throw engine::InputError("device " + std::to_string(ordinal) + " (" + info.name + ", " +
                             info.pci_bus_id +
                             ") is split into MIG instances: figures of a part of a card say "
                             "nothing about the card; disable MIG or take another device");
  return std::make_unique<cuda::Device>(std::move(info), std::move(nvml), cache);
}

std::string cuda_runtime_version() {
  int version = 0;
  cuda::check(cudaRuntimeGetVersion(&version), "asking for the version of CUDA's runtime");
  return cuda_version_text(version);
}

}  // namespace backends
