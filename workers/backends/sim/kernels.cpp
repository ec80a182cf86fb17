#include <algorithm>
#include <bit>
#include <cmath>

#include "workers/backends/sim/constants_text.hpp"
#include "workers/backends/sim/cost_model.hpp"

namespace backends {
namespace {

// The per-token and per-sequence constants were fitted with these head counts and scale with them.
constexpr double kFittedHeads = 32;
constexpr double kFittedKvHeads = 8;
constexpr int kGemmsPerLayer = 4;  // QKV, output, up (with gate), down

class KernelsCost final : public CostModel {
 public:
  KernelsCost(const GpuProfile& gpu, const model::ModelShape& shape)
      : shape_(shape),
        fit_(gpu.kernels),
        estimated_(fit_.estimated || fit_.model != shape.name || shape.fp8_kv),
        norm_squarings_(std::countr_zero(static_cast<unsigned>(fit_.gemm_norm))),
        overhead_(fit_.step_overhead_us * 1e-6) {
    const double layers = shape.layers;
    const double bytes = shape.dtype_bytes;
    const double bandwidth = fit_.gemm_gb_s * 1e9;
    const double flops = fit_.gemm_tflops * 1e12;
    const auto weights = static_cast<double>(model::linear_params(shape));
    const auto head = static_cast<double>(model::head_params(shape));
    const auto activations = static_cast<double>(model::activations_per_token_layer(shape));

    layers_.memory_base =
        layers * kGemmsPerLayer * fit_.gemm_launch_us * 1e-6 + weights * bytes / bandwidth;
    layers_.memory_per_row = layers * activations * bytes / bandwidth;
    layers_.compute_per_row = static_cast<double>(model::gemm_flops_per_token(shape)) / flops;

    head_.memory_base = fit_.gemm_launch_us * 1e-6 + head * bytes / bandwidth;
    head_.memory_per_row = (shape.hidden + shape.vocab) * bytes / bandwidth;
    head_.compute_per_row = static_cast<double>(model::head_flops_per_row(shape)) / flops;

    const double kv_read =
        static_cast<double>(model::kv_bytes_per_token(shape)) / (fit_.decode_gb_s * 1e9);
    prefill_.launch = layers * fit_.prefill_launch_us * 1e-6;
    prefill_.per_row = layers * fit_.prefill_token_ns * 1e-9 * shape.heads / kFittedHeads;
    prefill_.per_pair = model::attention_flops(shape, 1.0) / (fit_.prefill_tflops * 1e12);
    prefill_.per_context_token = kv_read;

    decode_.launch = layers * fit_.decode_launch_us * 1e-6;
    decode_.per_row = layers * fit_.decode_row_ns * 1e-9 * shape.kv_heads / kFittedKvHeads;
    decode_.per_context_token = kv_read;
  }
  engine::Nanos step_time(const StepShape& step) const override {
    return engine::from_seconds(overhead_ + gemm_seconds(layers_, step.tokens) +
                                gemm_seconds(head_, step.logits_rows) + attention_seconds(step));
  }
  /// GEMMs take the p-norm of a memory time a + b n and an arithmetic time c n. By Hölder's
  /// inequality it is at least u (a + b n) + v c n for any u, v >= 0 with u^q + v^q = 1, 1/p + 1/q
  /// = 1, and equal where u and v are the (p - 1)th powers of the shares of both times in the norm:
  /// here at `tokens`. Attention launches one of its kernels, takes a time for each token at least
  /// as long as that of the cheaper kind of row, and reads all KV: max(arithmetic, reading) >=
  /// reading. The output head, which a step without samples does not run, is left out.
  std::optional<StepLine> line_below(int tokens) const override {
    const double memory = layers_.memory_base + layers_.memory_per_row * tokens;
    const double compute = layers_.compute_per_row * tokens;
    const double norm = gemm_seconds(layers_, tokens);
    const double power = std::ldexp(1.0, norm_squarings_) - 1;
    const double u = std::pow(memory / norm, power), v = std::pow(compute / norm, power);
    return StepLine{.fixed_s = below_rounding(overhead_ + u * layers_.memory_base +
                                              std::min(prefill_.launch, decode_.launch)),
                    .token_s = u * layers_.memory_per_row + v * layers_.compute_per_row +
                               std::min(prefill_.per_row, decode_.per_row),
                    .kv_token_s = std::min(prefill_.per_context_token, decode_.per_context_token)};
  }
  std::string label() const override { return estimated() ? "kernels (estimated)" : "kernels"; }
  bool estimated() const override { return estimated_; }
  std::string digest_text() const override {
    ConstantsText constants("kernels");
    constants.add("layers", shape_.layers)
        .add("hidden", shape_.hidden)
        .add("heads", shape_.heads)
        .add("kv_heads", shape_.kv_heads)
        .add("head_dim", shape_.head_dim)
        .add("intermediate", shape_.intermediate)
        .add("vocab", shape_.vocab)
        .add("dtype_bytes", shape_.dtype_bytes)
        .add("gated_mlp", int{shape_.gated_mlp})
        .add("gemm_norm", fit_.gemm_norm)
        .add("gemm_launch_us", fit_.gemm_launch_us)
        .add("gemm_gb_s", fit_.gemm_gb_s)
        .add("gemm_tflops", fit_.gemm_tflops)
        .add("prefill_launch_us", fit_.prefill_launch_us)
        .add("prefill_token_ns", fit_.prefill_token_ns)
        .add("prefill_tflops", fit_.prefill_tflops)
        .add("decode_launch_us", fit_.decode_launch_us)
        .add("decode_row_ns", fit_.decode_row_ns)
        .add("decode_gb_s", fit_.decode_gb_s)
        .add("step_overhead_us", fit_.step_overhead_us);
    if (shape_.fp8_kv) constants.add("kv_scalar_bytes", 1);
    return constants.text();
  }

 private:
  /// Seconds of a group of GEMMs over `rows` rows: the norm of a memory time (launches, weights,
  /// activations) and an arithmetic time.
  struct Gemms {
    double memory_base = 0;     // launches and weights
    double memory_per_row = 0;  // activations
    double compute_per_row = 0;
  };
  /// Seconds in all layers.
  struct Attention {
    double launch = 0;
    double per_row = 0;            // per prefill token, or per decoding sequence
    double per_pair = 0;           // prefill: arithmetic of a query-key pair
    double per_context_token = 0;  // reading the KV of one token
  };

  double gemm_seconds(const Gemms& gemms, double rows) const {
    if (rows <= 0) return 0;
    double memory = gemms.memory_base + gemms.memory_per_row * rows;
    double compute = gemms.compute_per_row * rows;
    for (int i = 0; i < norm_squarings_; ++i) {
      memory *= memory;
      compute *= compute;
    }
    double sum = memory + compute;
    for (int i = 0; i < norm_squarings_; ++i) sum = std::sqrt(sum);
    return sum;
  }
  double attention_seconds(const StepShape& step) const {
    double launch = 0;  // one kernel serves both kinds of rows
    double seconds = 0;
    if (step.prefill_tokens > 0) {
      launch = prefill_.launch;
      const double arithmetic = prefill_.per_pair * step.prefill_context_products;
      // The time of a short chunk behind a long prefix is bound by reading that prefix, not by
      // arithmetic.
      const double reading =
          prefill_.per_context_token * static_cast<double>(step.prefill_kv_tokens);
      seconds += prefill_.per_row * step.prefill_tokens + std::max(arithmetic, reading);
    }
    if (step.decodes > 0) {
      launch = std::max(launch, decode_.launch);
      seconds += decode_.per_row * step.decodes +
                 decode_.per_context_token * static_cast<double>(step.decode_context_tokens);
    }
    return launch + seconds;
  }

  model::ModelShape shape_;
  KernelFit fit_;
  bool estimated_;
  int norm_squarings_ = 0;  // log2 of the norm
  Gemms layers_;
  Gemms head_;
  Attention prefill_;
  Attention decode_;
  double overhead_ = 0;  // seconds per step
};

}  // namespace

std::unique_ptr<CostModel> kernels_cost(const GpuProfile& gpu, const model::ModelShape& shape) {
  return std::make_unique<KernelsCost>(gpu, shape);
}

}  // namespace backends
