#include "tests/bench/step_floor.hpp"

#include <algorithm>

namespace worker {

double step_floor(const backends::StepShape& step, const model::ModelShape& shape,
                  const backends::Ceilings& ceilings) {
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  const bool has_logits = step.logits_rows > 0;
  const double weights =
      number(model::linear_params(shape) + (has_logits ? model::head_params(shape) : 0)) *
      shape.dtype_bytes;
  const double kv = number(step.decode_context_tokens + step.prefill_kv_tokens) *
                    number(model::kv_bytes_per_token(shape));
  const double flops = number(model::gemm_flops_per_token(shape)) * step.tokens +
                       number(model::head_flops_per_row(shape)) * step.logits_rows +
                       model::attention_flops(shape, step.prefill_context_products +
                                                         number(step.decode_context_tokens));
  const double products =
      std::max(weights / (1e9 * ceilings.read_gb_s), flops / (1e12 * ceilings.gemm_tflop_s));
  return products + kv / (1e9 * ceilings.read_gb_s);
}

}  // namespace worker
