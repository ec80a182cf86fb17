#include "workers/backends/sim/measured.hpp"

#include <cmath>

#include "workers/backends/sim/constants_text.hpp"
#include "workers/engine/base/errors.hpp"

namespace backends {

MeasuredCost::MeasuredCost(const GpuProfile& gpu, const model::ModelShape& shape) {
  if (!gpu.measured || gpu.measured->model != shape.name)
    throw engine::InputError("cost model 'measured' does not exist for " + shape.name + " on " +
                             gpu.name + ": its profile has no [measured] table for that model; " +
                             "run the model there with --backend cuda and see kvsweep fit, or use "
                             "cost model 'kernels'");
  fit_ = *gpu.measured;
}

engine::Nanos MeasuredCost::step_time(const StepShape& step) const {
  const auto kv_tokens = static_cast<double>(step.decode_context_tokens + step.prefill_kv_tokens);
  const double ns = fit_.base_ms * 1e6 + fit_.token_us * 1e3 * step.tokens +
                    fit_.kv_token_ns * kv_tokens +
                    fit_.pair_ps * 1e-3 * step.prefill_context_products;
  return engine::Nanos{std::llround(ns)};
}

std::optional<StepLine> MeasuredCost::line_below(int /*tokens*/) const {
  return StepLine{.fixed_s = below_rounding(fit_.base_ms * 1e-3),
                  .token_s = fit_.token_us * 1e-6,
                  .kv_token_s = fit_.kv_token_ns * 1e-9,
                  .pair_s = fit_.pair_ps * 1e-12};
}

std::string MeasuredCost::digest_text() const {
  return ConstantsText("measured")
      .add("base_ms", fit_.base_ms)
      .add("token_us", fit_.token_us)
      .add("kv_token_ns", fit_.kv_token_ns)
      .add("pair_ps", fit_.pair_ps)
      .text();
}

}  // namespace backends
