#include "workers/backends/cpu/cpu_backend.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernels/reference/kv_blocks.hpp"
#include "kernels/reference/layers.hpp"
#include "workers/backends/errors.hpp"

namespace backends {
namespace {

/// Accepts any block size, and heads of any size in whole groups.
int checked_block_size(int block_size, const model::ModelShape& shape) {
  check_kernels({.backend = "cpu"}, block_size, shape);
  return block_size;
}

}  // namespace

CpuBackend::CpuBackend(const CpuWeights& weights, const KvPool& pool, CpuOptions options)
    : weights_(weights),
      options_(std::move(options)),
      arena_(kv_layout(weights.shape(), checked_block_size(pool.block_size, weights.shape())),
             options_.kv_type, pool.num_blocks),
      forward_(weights, arena_) {
  for (int block = 0; block < pool.num_blocks; ++block) poison(static_cast<std::uint32_t>(block));
  if (options_.access_log)
    access_log_.emplace(
        *options_.access_log,
        AccessPattern{.block_size = pool.block_size, .kv_heads = weights.shape().kv_heads},
        weights.shape().layers, pool.num_blocks);
}

engine::StepResult CpuBackend::execute(const engine::StepPlan& plan) {
  const engine::Nanos start = clock_.now();
  sampled_.clear();
  if (plan.scheduled.empty()) return {};
  batch_.fill(plan, arena_.layout().block_size, unapplied_);
  check_step(batch_, weights_.shape(), options_.limits);
  rows_.resize(batch_.tokens.size());
  std::iota(rows_.begin(), rows_.end(), 0);
  for (const std::int32_t block : batch_.new_blocks) poison(static_cast<std::uint32_t>(block));
  run_layers(plan, access_log_ ? access_log_->begin_step(plan) : nullptr);
  sample(plan);
  unapplied_.keep(plan, sampled_);
  if (access_log_) access_log_->end_step();
  return {.sampled = sampled_, .duration = clock_.now() - start};
}

void CpuBackend::poison(std::uint32_t block) {
  if (options_.checks == Checks::debug)
    kernels::reference::poison_block(arena_.block(block).data(), arena_.block_bytes());
}

void CpuBackend::run_layers(const engine::StepPlan& plan, kernels::reference::AccessTrace* trace) {
  forward_.begin(batch_);
  require_finite(plan, NotFinite::kEmbedding, forward_.hidden(), rows_);
  for (int layer = 0; layer < weights_.shape().layers; ++layer) {
    forward_.layer(layer, trace && access_log_->logs_layer(layer) ? trace : nullptr);
    require_finite(plan, layer, forward_.hidden(), rows_);
  }
}

/// Computes logits in tiles, so that those of a long prompt are never all in memory.
void CpuBackend::sample(const engine::StepPlan& plan) {
  const auto vocab = static_cast<std::size_t>(weights_.shape().vocab);
  const bool all = options_.logits_at == LogitsAt::every_position;
  std::span<const std::int32_t> left = all ? rows_ : batch_.logits_rows;
  while (!left.empty()) {
    const auto tile =
        left.first(std::min(left.size(), static_cast<std::size_t>(RowInvariantGemm::kRows)));
    const std::span<const float> logits = forward_.logits(tile);
    require_finite(plan, NotFinite::kHead, logits, tile);
    for (std::size_t i = 0; i < tile.size(); ++i)
      take_row(plan, tile[i], logits.subspan(i * vocab, vocab));
    left = left.subspan(tile.size());
  }
}

void CpuBackend::take_row(const engine::StepPlan& plan, std::int32_t row,
                          std::span<const float> logits) {
  if (options_.on_logits)
    options_.on_logits(
        {request_of(plan, row), batch_.positions[static_cast<std::size_t>(row)], logits});
  const auto next = sampled_.size();
  if (next == batch_.logits_rows.size() || row != batch_.logits_rows[next]) return;
  const auto vocab = static_cast<int>(logits.size());
  sampled_.push_back(
      static_cast<engine::TokenId>(kernels::reference::argmax(logits.data(), vocab)));
}

/// `values` has the same number of values for each of these tokens of the step.
void CpuBackend::require_finite(const engine::StepPlan& plan, int layer,
                                std::span<const float> values,
                                std::span<const std::int32_t> rows) const {
  if (options_.checks == Checks::off) return;
  const auto wrong = std::ranges::find_if(values, [](float x) { return !std::isfinite(x); });
  if (wrong == values.end()) return;
  const auto width = values.size() / rows.size();
  const std::int32_t row = rows[static_cast<std::size_t>(wrong - values.begin()) / width];
  throw NotFinite(plan.step, layer, request_of(plan, row),
                  batch_.positions[static_cast<std::size_t>(row)]);
}

engine::RequestId CpuBackend::request_of(const engine::StepPlan& plan, std::int32_t row) const {
  const auto sequence = static_cast<std::size_t>(batch_.sequence[static_cast<std::size_t>(row)]);
  return plan.scheduled[sequence].request->id;
}

}  // namespace backends
