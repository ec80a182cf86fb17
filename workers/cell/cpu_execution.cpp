#include "workers/cell/cpu_execution.hpp"

#include <optional>
#include <thread>

#include "workers/backends/cpu/cpu_backend.hpp"
#include "workers/backends/cpu/cpu_copier.hpp"
#include "workers/cell/experiment.hpp"
#include "workers/record/access_tables.hpp"

namespace worker {
namespace {

backends::CpuOptions options_of(const ExperimentConfig& config) {
  const Transformer& transformer = *config.transformer;
  const engine::SchedulerConfig& scheduler = config.engine.scheduler;
  backends::CpuOptions options;
  options.kv_type = config.model.fp8_kv ? model::DType::e4m3 : transformer.dtype;
  options.checks = transformer.checks ? backends::Checks::debug : backends::Checks::off;
  options.limits.tokens = scheduler.max_num_batched_tokens;
  options.limits.sequences = scheduler.max_num_seqs;
  options.access_log = config.access_log;
  return options;
}

class CpuExecution final : public Execution {
 public:
  CpuExecution(const ExperimentConfig& config, std::shared_ptr<const backends::CpuWeights> weights)
      : config_(config),
        weights_(std::move(weights)),
        backend_(*weights_, {config.engine.kv.num_blocks, config.engine.kv.block_size},
                 options_of(config)) {
    if (config.engine.tier.kind == engine::TierKind::none) return;
    host_.emplace(backend_.arena().layout(), backend_.arena().type(),
                  static_cast<int>(config.engine.tier.host_blocks));
    copier_.emplace(backend_.arena(), *host_,
                    backends::CopierOptions{.checksums = config.transformer->checks, .fault = {}});
  }

  engine::Backend& backend() override { return backend_; }
  engine::BlockCopier* copier() override { return copier_ ? &*copier_ : nullptr; }
  engine::Clock& clock() override {
    if (clock_) return *clock_;
    clock_.emplace();
    if (backend_.access_log()) backend_.access_log()->use_clock(*clock_);
    return *clock_;
  }
  int num_blocks() const override { return config_.engine.kv.num_blocks; }
  void describe(sweep::CellResult& result) override {
    const Transformer& transformer = *config_.transformer;
    result.notes.push_back({"weights", open_weights(transformer)->describe()});
    result.notes.push_back({"dtype", model::to_text(transformer.dtype)});
    if (backend_.access_log()) add_access_log(result, *backend_.access_log());
  }

 private:
  const ExperimentConfig& config_;
  std::shared_ptr<const backends::CpuWeights> weights_;
  backends::CpuBackend backend_;
  std::optional<backends::KvArena> host_;
  std::optional<backends::CpuCopier> copier_;  // its thread ends before the arenas do
  std::optional<engine::WallClock> clock_;
};

}  // namespace

std::shared_ptr<const backends::CpuWeights> load_cpu_weights(const ExperimentConfig& config) {
  const Transformer& transformer = *config.transformer;
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return std::make_shared<backends::CpuWeights>(transformer.config, *open_weights(transformer),
                                                transformer.dtype, threads);
}

std::unique_ptr<Execution> make_cpu_execution(const ExperimentConfig& config,
                                              std::shared_ptr<const backends::CpuWeights> weights) {
  return std::make_unique<CpuExecution>(config, std::move(weights));
}

}  // namespace worker
