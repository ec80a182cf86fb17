#include "workers/backends/sim/published.hpp"

#include <cmath>

#include "workers/backends/sim/constants_text.hpp"
#include "workers/engine/base/errors.hpp"

namespace backends {
namespace {

constexpr const char* kWhereItExists =
    "llama-3.1-8b on a100-40gb, a100-80gb, h100-80gb and h200-141gb";

}  // namespace

PublishedCost::PublishedCost(const GpuProfile& gpu, const model::ModelShape& shape) {
  if (!gpu.published || gpu.published->model != shape.name)
    throw engine::InputError("cost model 'published' does not exist for " + shape.name + " on " +
                             gpu.name + ": step times were published for " + kWhereItExists +
                             " only; use cost model 'kernels'");
  fit_ = *gpu.published;
}

engine::Nanos PublishedCost::step_time(const StepShape& step) const {
  const double ns = fit_.intercept_ms * 1e6 + fit_.slope_us_per_token * 1e3 * step.tokens;
  return engine::Nanos{std::llround(ns)};
}

std::optional<StepLine> PublishedCost::line_below(int /*tokens*/) const {
  return StepLine{.fixed_s = below_rounding(fit_.intercept_ms * 1e-3),
                  .token_s = fit_.slope_us_per_token * 1e-6};
}

std::string PublishedCost::digest_text() const {
  return ConstantsText("published")
      .add("intercept_ms", fit_.intercept_ms)
      .add("slope_us_per_token", fit_.slope_us_per_token)
      .text();
}

}  // namespace backends
