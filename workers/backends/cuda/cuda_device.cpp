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
class CudaPageLocker final : public PageLocker {
 public:
  explicit CudaPageLocker(int device) : device_(device) {}
  bool asynchronous() const override { return true; }
  void lock(std::byte* data, std::size_t bytes) override {
    check(cudaSetDevice(device_), "choosing the device");
    check(cudaHostRegister(data, bytes, cudaHostRegisterPortable),
          "page-locking memory of the host tier");
  }
  void unlock(std::byte* data, std::size_t) noexcept override { cudaHostUnregister(data); }

 private:
  int device_;
};

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
    std::unique_ptr<HostMemory>& tier = options.host_pinned ? pinned_ : pageable_;
    if (options.host_slots > 0) (options.host_pinned ? pageable_ : pinned_).reset();
    if (options.host_slots > 0 && !tier) tier = make_tier(options.host_pinned);
    try {
      return std::make_unique<Cell>(info_.ordinal, *weights_, options,
                                    options.host_slots > 0 ? tier.get() : nullptr, gemms_);
    } catch (...) {
      if (tier && tier->failed()) tier.reset();  // the next cell may reserve less
      throw;
    }
  }

  void free_host_memory() noexcept override {
    pinned_.reset();
    pageable_.reset();
  }

  std::unique_ptr<TelemetrySampler> start_telemetry() override {
    if (!nvml_) return nullptr;
    return std::make_unique<TelemetrySampler>([this] { return nvml_->sample(info_.pci_bus_id); },
                                              std::chrono::seconds(1));
  }

  double energy_j() const override {
    return nvml_ ? nvml_->energy_j(info_.pci_bus_id) : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  std::unique_ptr<HostMemory> make_tier(bool pinned) const {
    HostMemoryOptions options;
    options.numa_node = info_.numa_node;
    return std::make_unique<HostMemory>(
        pinned ? std::make_unique<CudaPageLocker>(info_.ordinal) : no_page_locking(), options);
  }

  std::unique_ptr<Nvml> nvml_;
  DeviceInfo info_;
  GemmTable gemms_;
  std::optional<DeviceWeights> weights_;
  std::string weights_key_;
  std::unique_ptr<HostMemory> pinned_, pageable_;  // at most one of them
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
