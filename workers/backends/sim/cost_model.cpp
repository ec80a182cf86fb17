#include "workers/backends/sim/cost_model.hpp"

#include <algorithm>

#include "workers/backends/sim/kernels.hpp"
#include "workers/backends/sim/measured.hpp"
#include "workers/backends/sim/published.hpp"
#include "workers/engine/base/errors.hpp"

namespace backends {

std::optional<StepLine> CostModel::line_below(int /*tokens*/) const { return std::nullopt; }

double below_rounding(double seconds) { return std::max(0.0, seconds - 0.5e-9); }

std::vector<std::string> cost_model_names() { return {"kernels", "measured", "published"}; }

std::unique_ptr<CostModel> make_cost_model(const std::string& name, const GpuProfile& gpu,
                                           const model::ModelShape& shape) {
  if (name == "published") return std::make_unique<PublishedCost>(gpu, shape);
  if (name == "measured") return std::make_unique<MeasuredCost>(gpu, shape);
  if (name == "kernels") return std::make_unique<KernelsCost>(gpu, shape);
  throw engine::InputError("unknown cost model '" + name +
                           "', allowed: kernels, measured, published");
}

}  // namespace backends
