#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "workers/backends/cpu/cpu_access_log.hpp"
#include "workers/backends/cpu/forward_pass.hpp"
#include "workers/backends/step_batch.hpp"
#include "workers/engine/base/clock.hpp"
#include "workers/engine/step/backend.hpp"

namespace backends {

struct KvPool {
  int num_blocks = 0;  // including the null block 0
  int block_size = 16;
};

/// One row of logits as passed to an observer, valid during the call.
struct LogitsRow {
  engine::RequestId request;
  int position;                   // of the token that the logits follow
  std::span<const float> logits;  // [vocab]
};

enum class Checks : std::uint8_t {
  off,
  /// Poisons blocks, at first all and then new ones, so that reading one before it is written gives
  /// NaN, and checks for NaN after every layer.
  debug,
};
enum class LogitsAt : std::uint8_t { sampled_positions, every_position };

struct CpuOptions {
  model::DType kv_type = model::DType::bf16;
  Checks checks = Checks::off;
  LogitsAt logits_at = LogitsAt::sampled_positions;
  std::function<void(const LogitsRow&)> on_logits;  // may be empty
  std::optional<AccessLogOptions> access_log = {};  // of the KV cache; empty: no log
  StepLimits limits = {};                           // limits of the scheduler
};

/// Executes steps with a real transformer over real paged KV on one core: the oracle for GPU
/// backends. Greedy sampling; among equal logits the lowest token wins.
class CpuBackend final : public engine::Backend {
 public:
  /// `weights` is borrowed. Allocates the arena of pool.num_blocks blocks, arena().bytes() in all.
  /// Throws what check_kernels() and AccessLog throw.
  CpuBackend(const CpuWeights& weights, const KvPool& pool, CpuOptions options);

  /// Returns one token for every scheduled request with `samples`, valid until the next call.
  /// Throws what check_step() throws; in debug mode NotFinite; with an access log AccessMismatch.
  engine::StepResult execute(const engine::StepPlan& plan) override;

  /// Blocks by BlockId, for a copier to and from a host tier.
  KvArena& arena() { return arena_; }
  /// Null without an access log.
  CpuAccessLog* access_log() { return access_log_ ? &*access_log_ : nullptr; }

 private:
  void poison(std::uint32_t block);
  void run_layers(const engine::StepPlan& plan, kernels::reference::AccessTrace* trace);
  void sample(const engine::StepPlan& plan);
  void take_row(const engine::StepPlan& plan, std::int32_t row, std::span<const float> logits);
  void require_finite(const engine::StepPlan& plan, int layer, std::span<const float> values,
                      std::span<const std::int32_t> rows) const;
  engine::RequestId request_of(const engine::StepPlan& plan, std::int32_t row) const;

  const CpuWeights& weights_;
  CpuOptions options_;
  KvArena arena_;
  ForwardPass forward_;
  std::optional<CpuAccessLog> access_log_;
  engine::WallClock clock_;
  StepBatch batch_;
  UnappliedTokens unapplied_;
  std::vector<std::int32_t> rows_;  // tokens of the step, 0, 1, ...
  std::vector<engine::TokenId> sampled_;
};

}  // namespace backends
