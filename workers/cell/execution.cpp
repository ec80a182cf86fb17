#include "workers/cell/execution.hpp"

#include <unistd.h>

#include <filesystem>

#include "workers/backends/sim/sim_backend.hpp"
#include "workers/cell/cpu_execution.hpp"
#include "workers/cell/cuda_execution.hpp"
#include "workers/cell/experiment.hpp"
#include "workers/server/session.hpp"

namespace worker {
namespace {

/// Takes step durations from a cost model of the card, in virtual time.
class SimExecution final : public Execution {
 public:
  explicit SimExecution(const ExperimentConfig& config)
      : config_(config),
        cost_model_(backends::make_cost_model(config.cost_model, config.gpu, config.model)),
        backend_(*cost_model_) {
    if (config.engine.tier.kind == engine::TierKind::none) return;
    link_.emplace(config.link);
    if (config.engine.tier.disk_blocks > 0) disk_.emplace(config.disk);
    if (config.cost_model != "measured") return;
    const backends::MeasuredFit& fit = *config.gpu.measured;
    backend_.add_tier_work(*link_, engine::from_seconds(fit.tier_step_us * 1e-6),
                           engine::from_seconds(fit.load_block_us * 1e-6));
  }

  engine::Backend& backend() override { return backend_; }
  engine::Clock& clock() override { return clock_; }
  engine::BlockCopier* copier() override { return link_ ? &*link_ : nullptr; }
  engine::BlockDisk* disk() override { return disk_ ? &*disk_ : nullptr; }
  int num_blocks() const override { return config_.engine.kv.num_blocks; }
  void describe(sweep::CellResult& result) override {
    result.notes.push_back({"cost_model", cost_model_->label()});
    if (config_.cost_model == "measured" && config_.gpu.measured->is_older)
      result.notes.push_back({"cost_model_fit", "older kernels", true});
  }

 private:
  const ExperimentConfig& config_;
  std::unique_ptr<backends::CostModel> cost_model_;
  backends::SimBackend backend_;
  engine::VirtualClock clock_;
  std::optional<backends::LinkCopier> link_;
  std::optional<backends::DiskModel> disk_;
};

/// Whether the caches are as the cell wants them. Throws where only a restart would empty them, and
/// the server is not ours to restart.
bool empty_caches(server::Session& session, const server::ServerConfig& config,
                  const std::stop_token& stop) {
  if (session.empty_caches(config.reset, stop)) return true;
  if (!session.owned())
    throw server::WrongServer("the caches of the server at " + session.url() +
                              " cannot be emptied before a cell: start it with " +
                              session.dialect().reset_needs() +
                              ", or give server.reset = \"none\" to measure it as it is");
  return false;
}

}  // namespace

bool can_reach_servers() { return server::has_http(); }

struct Executor::Kept {
  std::unique_ptr<backends::CudaDevice> device;
  backends::WeightsReport weights;  // on the device
  std::string weights_key;
  std::shared_ptr<const backends::CpuWeights> cpu_weights;
  std::unique_ptr<server::Session> server;
  std::string server_devices;

  std::shared_ptr<const backends::CpuWeights> weights_for(const ExperimentConfig& config) {
    const std::string key = worker::weights_key(*config.transformer);
    if (cpu_weights == nullptr || key != weights_key) {
      cpu_weights.reset();  // never two models in memory
      cpu_weights = load_cpu_weights(config);
      weights_key = key;
    }
    return cpu_weights;
  }
};

Executor::Executor() : kept_(std::make_unique<Kept>()) {}
Executor::Executor(std::unique_ptr<backends::CudaDevice> device) : Executor() {
  kept_->device = std::move(device);
}
Executor::~Executor() = default;

void Executor::load(const ExperimentConfig& config,
                    const std::optional<backends::NcclGroup>& group) {
  if (config.backend != "cuda") return;
  if (kept_->device == nullptr) kept_->device = backends::open_cuda_device(0);
  const backends::WeightsReport report = load_cuda_weights(config, *kept_->device, group);
  if (report.seconds > 0 || report.broadcast.bytes > 0) kept_->weights = report;
}

void Executor::set_server_devices(const std::string& devices) { kept_->server_devices = devices; }

void Executor::end_server() noexcept { kept_->server.reset(); }

server::Session& Executor::serve(const ExperimentConfig& config, const RunHooks& hooks) {
  std::unique_ptr<server::Session>& server = kept_->server;
  const bool runs = server && server->is_for(*config.server);
  if (runs && empty_caches(*server, *config.server, hooks.stop)) return *server;
  server.reset();
  std::string log = hooks.server_log;
  if (log.empty()) {
    const std::string name = "kvsweep-server-" + std::to_string(::getpid()) + ".log";
    log = std::filesystem::temp_directory_path() / name;
  }
  server = std::make_unique<server::Session>(*config.server,
                                             server::Place{log, kept_->server_devices, hooks.stop});
  if (!server->owned())
    empty_caches(*server, *config.server, hooks.stop);  // of what others have asked it
  return *server;
}

void Executor::free_host_memory() noexcept {
  if (kept_->device) kept_->device->free_host_memory();
}

std::unique_ptr<Execution> Executor::prepare(const ExperimentConfig& config) {
  if (config.backend == "cpu") return make_cpu_execution(config, kept_->weights_for(config));
  if (config.backend == "cuda") {
    load(config);
    return make_cuda_execution(config, *kept_->device, kept_->weights);
  }
  return std::make_unique<SimExecution>(config);
}

}  // namespace worker
