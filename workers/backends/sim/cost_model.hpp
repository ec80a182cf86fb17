#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "workers/backends/sim/gpu_profile.hpp"
#include "workers/engine/base/clock.hpp"
#include "workers/model/shape.hpp"

namespace backends {

/// The inputs of a step's duration. Counts cover the whole step.
struct StepShape {
  int tokens = 0;          // scheduled, prefill and decode
  int prefill_tokens = 0;  // of prefill chunks
  int sequences = 0;
  int decodes = 0;                         // sequences that decode one token
  int logits_rows = 0;                     // rows that go through the output head
  std::int64_t decode_context_tokens = 0;  // KV tokens that the decode rows read
  /// Sum over prefill chunks of n * (computed_before + (n + 1) / 2): query-key pairs of causal
  /// attention.
  double prefill_context_products = 0;
  std::int64_t prefill_kv_tokens = 0;  // sum over prefill chunks of computed_before + n
  int max_tokens_of_one_request = 0;
};

/// Duration of an engine step on a modelled GPU. Pure, monotone in every count, and cheap, because
/// the simulator calls it once per step.
class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual engine::Nanos step_time(const StepShape& step) const = 0;
  virtual std::string label() const = 0;
  /// True without measurements of this card with this model shape.
  virtual bool estimated() const = 0;
  /// All constants that step_time depends on, as text; two texts are equal exactly when all
  /// constants are.
  virtual std::string digest_text() const = 0;
};

std::vector<std::string> cost_model_names();

/// Throws engine::InputError when the name is unknown, or when `published` is requested for a card
/// and model without a published regression; the message lists those that have one.
std::unique_ptr<CostModel> make_cost_model(const std::string& name, const GpuProfile& gpu,
                                           const model::ModelShape& shape);

}  // namespace backends
