#pragma once
#include <memory>
#include <optional>
#include <stop_token>

#include "sweeps/tables/result.hpp"
#include "workers/backends/cuda/cuda_device.hpp"
#include "workers/engine/base/clock.hpp"
#include "workers/engine/step/block_copier.hpp"

namespace engine {
class Backend;
class BlockDisk;
}  // namespace engine
namespace server {
class Session;
}

namespace worker {

/// Whether this program can speak to servers: it was built with libcurl.
bool can_reach_servers();

struct ExperimentConfig;
struct RunHooks;

/// The backend of one cell, the clock of its steps, and its background copies.
class Execution {
 public:
  virtual ~Execution() = default;
  virtual engine::Backend& backend() = 0;
  /// Waits for setup that would otherwise slow down the cell's first steps; false when a stop is
  /// requested first.
  virtual bool make_ready(std::stop_token) { return true; }
  /// Starts at zero on the first call: the cell's arrivals count from there.
  virtual engine::Clock& clock() = 0;
  /// Null without a host tier.
  virtual engine::BlockCopier* copier() { return nullptr; }
  /// Null without a disk behind it.
  virtual engine::BlockDisk* disk() { return nullptr; }
  /// KV blocks of the device pool, the null block included.
  virtual int num_blocks() const = 0;
  /// Adds observations from outside the engine: notes, figures, telemetry.
  virtual void describe(sweep::CellResult& result) = 0;
};

/// Makes executions, and keeps what is costly to create between cells: weights, pinned memory, the
/// device. One per worker.
class Executor {
 public:
  /// Serves sim and cpu cells, and cuda cells on device 0, which is opened for the first of them.
  Executor();
  /// Serves cuda cells on this device.
  explicit Executor(std::unique_ptr<backends::CudaDevice> device);
  ~Executor();
  /// Loads the cell's model onto the GPU, if its backend uses one. With a group, rank 0 reads or
  /// generates the weights and sends them to the others: all ranks must call this.
  void load(const ExperimentConfig& config, const std::optional<backends::NcclGroup>& group = {});
  /// `config` must outlive the execution. One execution at a time. Throws engine::InputError, and
  /// the backend's error when the model does not fit.
  std::unique_ptr<Execution> prepare(const ExperimentConfig& config);
  /// The server of the cell, ready and with empty caches: the one of the cell before where the
  /// same command starts it, and it can be emptied. Throws what a server::Session throws.
  server::Session& serve(const ExperimentConfig& config, const RunHooks& hooks);
  /// Ends the server, if there is one; the next cell starts another.
  void end_server() noexcept;
  /// Sets CUDA_VISIBLE_DEVICES of servers.
  void set_server_devices(const std::string& devices);
  /// Frees host memory kept for tiers of later cells. No execution may exist.
  void free_host_memory() noexcept;

 private:
  struct Kept;
  std::unique_ptr<Kept> kept_;
};

}  // namespace worker
