#include "workers/cell/cuda_execution.hpp"

#include "sweeps/tables/schema.hpp"
#include "workers/cell/experiment.hpp"
#include "workers/record/access_tables.hpp"

namespace worker {
namespace {

sweep::Table table_of(const std::vector<backends::TelemetryRow>& samples) {
  std::vector<sweep::TelemetryRow> rows;
  for (const backends::TelemetryRow& row : samples) {
    const backends::NvmlSample& s = row.sample;
    rows.push_back({row.t, s.gpu_util, s.memory_util, s.sm_clock_mhz, s.memory_clock_mhz, s.power_w,
                    s.temperature_c, static_cast<std::int64_t>(s.throttle_reasons),
                    s.memory_used_bytes});
  }
  return sweep::to_table<sweep::TelemetryRow>(rows);
}

class CudaExecution final : public Execution {
 public:
  CudaExecution(const ExperimentConfig& config, backends::CudaDevice& device,
                const backends::WeightsReport& weights)
      : config_(config),
        device_(device),
        weights_(weights),
        cell_(device.make_cell(cuda_cell_options(config))) {}

  engine::Backend& backend() override { return cell_->backend(); }
  engine::BlockCopier* copier() override { return cell_->copier(); }
  /// Page-locking competes with steps for the driver and the memory, and a store to memory that is
  /// not locked yet would wait.
  bool make_ready(std::stop_token stop) override {
    if (cell_->host_memory() == nullptr) return true;
    const engine::WallClock wall;
    const bool ready = cell_->host_memory()->wait_ready(std::move(stop));
    host_ready_wait_s_ = engine::to_seconds(wall.now());
    return ready;
  }
  engine::Clock& clock() override {
    if (!clock_) {
      telemetry_ = device_.start_telemetry();
      energy_from_j_ = device_.energy_j();
      clock_.emplace();
      if (cell_->access_log()) cell_->access_log()->use_clock(*clock_);
    }
    return *clock_;
  }
  int num_blocks() const override { return cell_->pool().num_blocks; }
  void describe(sweep::CellResult& result) override {
    if (telemetry_) result.telemetry = table_of(telemetry_->stop());
    result.figures.push_back({"gpu_energy_j", device_.energy_j() - energy_from_j_, "J", true});
    describe_model(result);
    describe_device(result);
    describe_memory(result);
    if (cell_->access_log()) add_access_log(result, *cell_->access_log());
  }

 private:
  void describe_model(sweep::CellResult& result) const {
    const Transformer& transformer = *config_.transformer;
    result.notes.push_back({"weights", open_weights(transformer)->describe()});
    result.notes.push_back({"dtype", model::to_text(transformer.dtype)});
    const double nothing = sweep::kNotObserved;
    const auto& sent = weights_.broadcast;
    result.figures.push_back(
        {"weights_s", weights_.seconds > 0 ? weights_.seconds : nothing, "s", true});
    result.figures.push_back(
        {"weights_broadcast_gb_s", sent.bytes > 0 ? sent.gb_s() : nothing, "GB/s", true});
  }
  void describe_device(sweep::CellResult& result) const {
    const backends::DeviceInfo& info = device_.info();
    result.notes.push_back({"gpu_pci_bus_id", info.pci_bus_id, true});
    if (!info.card) return;
    result.notes.push_back({"gpu_driver", info.card->driver, true});
    result.notes.push_back({"gpu_form_factor", info.card->form_factor, true});
    result.figures.push_back({"gpu_power_limit_w", info.card->power_limit_w, "W", true});
  }
  void describe_memory(sweep::CellResult& result) const {
    const backends::PoolPlan& pool = cell_->pool();
    result.figures.push_back({"kv_pool_blocks", double(pool.num_blocks - 1), "", true});
    result.figures.push_back({"kv_pool_bytes", static_cast<double>(pool.bytes()), "B", true});
    result.figures.push_back({"host_ready_wait_s", host_ready_wait_s_, "s", true});
    const backends::StepCost& cost = cell_->steps();
    result.figures.push_back({"step_prepare_s", cost.prepare, "s", true});
    result.figures.push_back({"step_launch_s", cost.launch, "s", true});
    result.figures.push_back({"step_device_s", cost.device, "s", true});
    result.figures.push_back({"step_wait_s", cost.wait, "s", true});
  }

  const ExperimentConfig& config_;
  backends::CudaDevice& device_;
  backends::WeightsReport weights_;
  std::unique_ptr<backends::CudaCell> cell_;
  std::unique_ptr<backends::TelemetrySampler> telemetry_;
  std::optional<engine::WallClock> clock_;
  double energy_from_j_ = sweep::kNotObserved;      // since the driver was loaded
  double host_ready_wait_s_ = sweep::kNotObserved;  // before the clock started
};

}  // namespace

backends::CudaCellOptions cuda_cell_options(const ExperimentConfig& config) {
  const Transformer& transformer = *config.transformer;
  backends::CudaCellOptions options;
  options.block_size = config.engine.kv.block_size;
  options.max_batched_tokens = config.engine.scheduler.max_num_batched_tokens;
  options.max_seqs = config.engine.scheduler.max_num_seqs;
  options.max_model_len = config.engine.scheduler.max_model_len;
  options.pool = {transformer.memory_utilization, transformer.kv_tokens};
  options.host_slots = static_cast<int>(config.engine.tier.host_blocks);
  options.host_pinned = config.host_memory == backends::LinkMemory::pinned;
  options.prefill_attention = transformer.contiguous_prefill
                                  ? backends::PrefillAttention::contiguous
                                  : backends::PrefillAttention::paged;
  options.fp8_kv = config.model.fp8_kv;
  options.tune = true;
  options.debug = transformer.checks;
  options.access_log = config.access_log;
  return options;
}

backends::WeightsReport load_cuda_weights(const ExperimentConfig& config,
                                          backends::CudaDevice& device,
                                          const std::optional<backends::NcclGroup>& group) {
  const Transformer& transformer = *config.transformer;
  const auto source = open_weights(transformer);
  std::optional<std::uint64_t> seed;
  if (transformer.checkpoint.empty()) seed = static_cast<std::uint64_t>(transformer.seed);
  return device.load_weights(transformer.config, {*source, seed, group});
}

std::unique_ptr<Execution> make_cuda_execution(const ExperimentConfig& config,
                                               backends::CudaDevice& device,
                                               const backends::WeightsReport& weights) {
  return std::make_unique<CudaExecution>(config, device, weights);
}

}  // namespace worker
