#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "sweeps/result.hpp"
#include "workers/backends/cuda/cuda_device.hpp"
#include "workers/engine/backend.hpp"
#include "workers/engine/block_copier.hpp"
#include "workers/engine/clock.hpp"

namespace worker {

struct ExperimentConfig;

/// What one cell runs on: a backend, the clock that its steps are told by, and copies in the
/// background.
class Execution {
 public:
  virtual ~Execution() = default;
  virtual engine::Backend& backend() = 0;
  /// Waits for what would otherwise slow the cell's first steps down; false: asked to stop before.
  virtual bool make_ready(std::stop_token) { return true; }
  /// Starts at zero when it is first asked for: the cell's first arrivals count from there.
  virtual engine::Clock& clock() = 0;
  /// Null where no host tier is.
  virtual engine::BlockCopier* copier() { return nullptr; }
  /// KV blocks of the device pool, the null block included.
  virtual int num_blocks() const = 0;
  /// Adds what was observed beside the engine: notes, figures, telemetry.
  virtual void describe(sweep::CellResult& result) = 0;
};

/// Makes executions, and keeps between cells what is costly to make: weights, pinned memory, the
/// device. One a worker.
class Executor {
 public:
  /// Serves sim and cpu cells, and cuda ones on device 0, opened when the first comes.
  Executor();
  /// Serves cuda cells on this device.
  explicit Executor(std::unique_ptr<backends::CudaDevice> device);
  ~Executor();
  /// Puts the cell's model where its backend computes, if that is a GPU. With a group, rank 0 reads
  /// or makes the weights and sends them to the others: all must call this.
  void load(const ExperimentConfig& config, const std::optional<backends::NcclGroup>& group = {});
  /// `config` must outlive the execution; one execution at a time. Throws engine::InputError, and
  /// what the backend throws when the model does not fit.
  std::unique_ptr<Execution> prepare(const ExperimentConfig& config);
  /// Host memory that was kept for tiers of later cells is freed. No execution may be there.
  void give_back_host_memory() noexcept;

 private:
  struct Kept;
  std::unique_ptr<Kept> kept_;
};

}  // namespace worker
