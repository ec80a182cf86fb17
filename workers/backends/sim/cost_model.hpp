#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workers/backends/sim/gpu_profile.hpp"
#include "workers/engine/base/clock.hpp"
#include "workers/model/shape.hpp"

namespace backends {

/// The inputs of a step's duration. Counts cover the whole step.
struct StepShape {
  int tokens = 0;                          // scheduled, prefill and decode
  int prefill_tokens = 0;                  // of prefill chunks
  int decodes = 0;                         // sequences that decode one token
  int logits_rows = 0;                     // rows that go through the output head
  std::int64_t decode_context_tokens = 0;  // KV tokens that the decode rows read
  /// Sum over prefill chunks of n * (computed_before + (n + 1) / 2): query-key pairs of causal
  /// attention.
  double prefill_context_products = 0;
  std::int64_t prefill_kv_tokens = 0;  // sum over prefill chunks of computed_before + n
};

/// Seconds that a step takes at least: `fixed_s`, and a share for each of its counts.
struct StepLine {
  double fixed_s = 0;
  double token_s = 0;
  double kv_token_s = 0;  // by KV token that a row reads
  double pair_s = 0;      // by query-key pair of prompts
};

/// Duration of an engine step on a modelled GPU. Pure, monotone in every count, and cheap, because
/// the simulator calls it once per step. Over steps of prefill it is convex and subadditive: two
/// steps take at least as long as one with the counts of both, or as two with half of them each.
class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual engine::Nanos step_time(const StepShape& step) const = 0;
  /// A line below step_time() for every step of at least one token, as tight as possible for a step
  /// of `tokens`; empty when none is known.
  virtual std::optional<StepLine> line_below(int tokens) const;
  virtual std::string label() const = 0;
  /// True without measurements of this card with this model shape.
  virtual bool estimated() const = 0;
  /// All constants that step_time depends on, as text; two texts are equal exactly when all
  /// constants are.
  virtual std::string digest_text() const = 0;
};

/// The fixed part of a line, less what rounding a step to nanoseconds may take from it.
double below_rounding(double seconds);

std::vector<std::string> cost_model_names();
/// "measured" where the card has constants for this model, otherwise "kernels".
std::string usual_cost_model(const GpuProfile& gpu, const model::ModelShape& shape);

/// Throws engine::InputError when the name is unknown, or when `published` is requested for a card
/// and model without a published regression; the message lists those that have one.
std::unique_ptr<CostModel> make_cost_model(const std::string& name, const GpuProfile& gpu,
                                           const model::ModelShape& shape);

/// Time of the GEMM and attention kernels of a step, from constants fitted to kernel timings, plus
/// a constant host overhead. docs/engine.md has formulas, sources and fit errors.
std::unique_ptr<CostModel> kernels_cost(const GpuProfile& gpu, const model::ModelShape& shape);

}  // namespace backends
