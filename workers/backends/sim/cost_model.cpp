#include "workers/backends/sim/cost_model.hpp"

#include <algorithm>
#include <cmath>

#include "workers/backends/sim/constants_text.hpp"
#include "workers/engine/base/errors.hpp"

namespace backends {
namespace {

/// A step that takes a fixed time and a share for each of its counts.
class LineCost final : public CostModel {
 public:
  /// `constants` names what the line is made of.
  LineCost(std::string label, MeasuredFit line, const ConstantsText& constants)
      : label_(std::move(label)), line_(std::move(line)), digest_text_(constants.text()) {}

  engine::Nanos step_time(const StepShape& step) const override {
    const auto kv_tokens = static_cast<double>(step.decode_context_tokens + step.prefill_kv_tokens);
    const double ns = line_.base_ms * 1e6 + line_.token_us * 1e3 * step.tokens +
                      line_.kv_token_ns * kv_tokens +
                      line_.pair_ps * 1e-3 * step.prefill_context_products;
    return engine::Nanos{std::llround(ns)};
  }
  std::optional<StepLine> line_below(int /*tokens*/) const override {
    return StepLine{.fixed_s = below_rounding(line_.base_ms * 1e-3),
                    .token_s = line_.token_us * 1e-6,
                    .kv_token_s = line_.kv_token_ns * 1e-9,
                    .pair_s = line_.pair_ps * 1e-12};
  }
  std::string label() const override { return label_; }
  bool estimated() const override { return false; }
  std::string digest_text() const override { return digest_text_; }

 private:
  std::string label_;
  MeasuredFit line_;
  std::string digest_text_;
};

[[noreturn]] void refuse(const std::string& name, const GpuProfile& gpu,
                         const model::ModelShape& shape, const std::string& why) {
  throw engine::InputError("cost model '" + name + "' does not exist for " + shape.name + " on " +
                           gpu.name + ": " + why + " cost model 'kernels'");
}

/// The linear regression of the published 72-run matrix over scheduled tokens. It includes all time
/// that the measured engine spent in a step, host time too, and ignores context lengths.
std::unique_ptr<CostModel> published_cost(const GpuProfile& gpu, const model::ModelShape& shape) {
  if (!gpu.published || gpu.published->model != shape.name)
    refuse("published", gpu, shape,
           "step times were published for llama-3.1-8b on a100-40gb, a100-80gb, h100-80gb and "
           "h200-141gb only; use");
  const PublishedFit& fit = *gpu.published;
  return std::make_unique<LineCost>(
      "published",
      MeasuredFit{
          .model = fit.model, .base_ms = fit.intercept_ms, .token_us = fit.slope_us_per_token},
      ConstantsText("published")
          .add("intercept_ms", fit.intercept_ms)
          .add("slope_us_per_token", fit.slope_us_per_token));
}

bool is_measured(const GpuProfile& gpu, const model::ModelShape& shape) {
  return gpu.measured && gpu.measured->model == shape.name;
}

/// A linear fit to steps of this engine on the real card: base, scheduled tokens, KV tokens read,
/// and query-key pairs of prompts. `kvsweep fit` computes its constants, which include host work
/// and gaps between kernels.
std::unique_ptr<CostModel> measured_cost(const GpuProfile& gpu, const model::ModelShape& shape) {
  if (!is_measured(gpu, shape))
    refuse("measured", gpu, shape,
           "its profile has no [measured] table for that model; run the model there with "
           "--backend cuda and see kvsweep fit, or use");
  MeasuredFit fit = *gpu.measured;
  std::string of = fit.server.empty() ? "" : " (steps of " + fit.server + ')';
  if (shape.fp8_kv) {
    // Steps were measured with KV of 16 bits, and reading it is bound by its bytes.
    fit.kv_token_ns *= 1.0 / shape.dtype_bytes;
    of = " (KV reads scaled to fp8)";
  }
  ConstantsText constants("measured");
  constants.add("base_ms", fit.base_ms)
      .add("token_us", fit.token_us)
      .add("kv_token_ns", fit.kv_token_ns)
      .add("pair_ps", fit.pair_ps);
  if (!fit.server.empty())
    constants.add("request_ms", fit.request_ms)
        .add("tier_step_us", fit.tier_step_us)
        .add("load_block_us", fit.load_block_us);
  return std::make_unique<LineCost>("measured" + of, fit, constants);
}

}  // namespace

std::optional<StepLine> CostModel::line_below(int /*tokens*/) const { return std::nullopt; }

double below_rounding(double seconds) { return std::max(0.0, seconds - 0.5e-9); }

std::vector<std::string> cost_model_names() { return {"kernels", "measured", "published"}; }

std::string usual_cost_model(const GpuProfile& gpu, const model::ModelShape& shape) {
  return is_measured(gpu, shape) ? "measured" : "kernels";
}

std::unique_ptr<CostModel> make_cost_model(const std::string& name, const GpuProfile& gpu,
                                           const model::ModelShape& shape) {
  if (name == "published") return published_cost(gpu, shape);
  if (name == "measured") return measured_cost(gpu, shape);
  if (name == "kernels") return kernels_cost(gpu, shape);
  throw engine::InputError("unknown cost model '" + name +
                           "', allowed: kernels, measured, published");
}

}  // namespace backends
