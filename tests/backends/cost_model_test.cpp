#include "workers/backends/sim/cost_model.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/profiles/profiles.hpp"

using backends::CostModel;
using backends::StepShape;

namespace {

const std::filesystem::path kDir = "sweeps";
const std::vector<std::string> kPublishedGpus = {"a100-40gb", "a100-80gb", "h100-80gb",
                                                 "h200-141gb"};

std::unique_ptr<CostModel> cost(const std::string& name, const std::string& gpu,
                                const std::string& model = "llama-3.1-8b") {
  return backends::make_cost_model(name, worker::load_gpu_profile(kDir, gpu),
                                   worker::load_model_config(kDir, model).shape);
}

double ms(const CostModel& model, const StepShape& step) {
  return engine::to_seconds(model.step_time(step)) * 1e3;
}

/// `rows` sequences that each decode one token after `context` tokens.
StepShape decode_step(int rows, int context) {
  return {.tokens = rows,
          .decodes = rows,
          .logits_rows = rows,
          .decode_context_tokens = std::int64_t{rows} * context};
}

/// One prefill chunk of n tokens behind `before` computed ones.
StepShape prefill_step(int n, int before = 0) {
  return {.tokens = n,
          .prefill_tokens = n,
          .logits_rows = 1,
          .prefill_context_products = n * (before + (n + 1) / 2.0),
          .prefill_kv_tokens = before + n};
}

/// Only the linear layers and the output head: no attention.
StepShape gemm_step(int rows, int logits) { return {.tokens = rows, .logits_rows = logits}; }

StepShape random_step(std::mt19937_64& random) {
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  StepShape step{.prefill_tokens = up_to(4096), .decodes = up_to(256)};
  step.tokens = step.prefill_tokens + step.decodes;
  step.logits_rows = step.decodes + up_to(8);
  step.decode_context_tokens = std::int64_t{step.decodes} * up_to(16384);
  step.prefill_kv_tokens = step.prefill_tokens + up_to(65536);
  step.prefill_context_products = 0.5 * step.prefill_tokens * up_to(65536);
  return step;
}

/// The step with one of its counts increased.
StepShape raised(StepShape step, int field, int by) {
  switch (field) {
    case 0:
      step.tokens += by;
      break;
    case 1:
      step.prefill_tokens += by;
      break;
    case 2:
      step.decodes += by;
      break;
    case 3:
      step.logits_rows += by;
      break;
    case 4:
      step.decode_context_tokens += by;
      break;
    case 5:
      step.prefill_context_products += by;
      break;
    default:
      step.prefill_kv_tokens += by;
      break;
  }
  return step;
}

constexpr int kFields = 7;

const std::vector<std::pair<std::string, std::string>> kModelsOfCards = {
    {"published", "h100-80gb"},
    {"measured", "h200-141gb"},
    {"kernels", "h200-141gb"},
    {"kernels", "h100-80gb"},
    {"kernels", "a100-sxm-40gb"}};

}  // namespace

TEST_CASE("the published step time is exactly intercept plus slope times tokens") {
  using engine::Nanos;
  CHECK(cost("published", "h100-80gb")->step_time({.tokens = 1}) == Nanos{23'725'800});
  CHECK(cost("published", "h100-80gb")->step_time({.tokens = 2048}) == Nanos{76'538'400});
  CHECK(cost("published", "h200-141gb")->step_time({.tokens = 2048}) == Nanos{97'380'800});
  CHECK(cost("published", "a100-40gb")->step_time({.tokens = 100}) == Nanos{75'930'000});
  CHECK(cost("published", "a100-80gb")->step_time({.tokens = 100}) == Nanos{75'930'000});
}

TEST_CASE("the published step time depends on nothing but the tokens of the step") {
  const auto model = cost("published", "h100-80gb");
  const StepShape step = decode_step(16, 8192);
  for (int field = 1; field < kFields; ++field)
    CHECK(model->step_time(raised(step, field, 1000)) == model->step_time(step));
}

TEST_CASE("factors on the card's constants change the fixed and the token part of each model") {
  const auto gpu = worker::load_gpu_profile(kDir, "h200-141gb");
  const auto shape = worker::load_model_config(kDir, "llama-3.1-8b").shape;
  const StepShape step = decode_step(64, 8192);
  for (const std::string& name : backends::cost_model_names()) {
    CAPTURE(name);
    const auto time = [&](const backends::CostScale& scale) {
      return ms(*backends::make_cost_model(name, backends::scaled(gpu, scale), shape), step);
    };
    const double plain = time({});
    CHECK(plain == ms(*backends::make_cost_model(name, gpu, shape), step));
    CHECK(time({.fixed = 1.06, .token = 1.06}) == Approx(1.06 * plain));
    CHECK(time({.fixed = 1.06}) > plain);
    CHECK(time({.token = 1.06}) > plain);
    CHECK(time({.link = 2}) == plain);
  }
  CHECK(backends::scaled(gpu, {.link = 2}).link.pinned_h2d_gb_s == gpu.link.pinned_h2d_gb_s / 2);
}

TEST_CASE("published exists exactly where step times were published, and the error says where") {
  for (const std::string& gpu : worker::profile_names(kDir / "gpus")) {
    for (const std::string& model : worker::profile_names(kDir / "models")) {
      CAPTURE(gpu, model);
      const bool exists = model == "llama-3.1-8b" &&
                          std::count(kPublishedGpus.begin(), kPublishedGpus.end(), gpu) == 1;
      if (exists) {
        CHECK(cost("published", gpu, model)->label() == "published");
        CHECK_FALSE(cost("published", gpu, model)->estimated());
      } else {
        CHECK_THROWS_AS(cost("published", gpu, model), engine::InputError);
      }
    }
  }
  CHECK_THROWS_WITH(
      cost("published", "l40s-48gb"),
      "cost model 'published' does not exist for llama-3.1-8b on l40s-48gb: step times were "
      "published for llama-3.1-8b on a100-40gb, a100-80gb, h100-80gb and h200-141gb only; use "
      "cost model 'kernels'");
}

TEST_CASE(
    "the measured step time is a base, scheduled tokens, KV tokens read, and pairs of prompts") {
  backends::GpuProfile gpu = worker::load_gpu_profile(kDir, "l40s-48gb");
  gpu.measured = {
      .model = "llama-3.1-8b", .base_ms = 4, .token_us = 30, .kv_token_ns = 50, .pair_ps = 100};
  const model::ModelShape shape = worker::load_model_config(kDir, "llama-3.1-8b").shape;
  const auto model = backends::make_cost_model("measured", gpu, shape);
  using engine::Nanos;
  CHECK(model->step_time({}) == Nanos{4'000'000});
  CHECK(model->step_time({.tokens = 100}) == Nanos{7'000'000});
  CHECK(model->step_time(decode_step(10, 1000)) == Nanos{4'000'000 + 300'000 + 500'000});
  const double pairs = prefill_step(100, 900).prefill_context_products;
  CHECK(pairs == Approx(100 * 950.5));
  CHECK(model->step_time(prefill_step(100, 900)) ==
        Nanos{4'000'000 + 3'000'000 + 50'000 + std::llround(pairs / 10)});
  CHECK(model->label() == "measured");
  CHECK_FALSE(model->estimated());
}

TEST_CASE("measured exists where steps of the model were measured, and the error says what to do") {
  CHECK_NOTHROW(cost("measured", "h200-141gb"));
  CHECK_THROWS_WITH(cost("measured", "l40s-48gb"),
                    Catch::Matchers::Contains("llama-3.1-8b on l40s-48gb") &&
                        Catch::Matchers::Contains("kvsweep fit"));
  CHECK_THROWS_AS(cost("measured", "h200-141gb", "opt-13b"), engine::InputError);
}

TEST_CASE("an unknown cost model is refused with the ones that exist") {
  CHECK_THROWS_WITH(cost("roofline", "h100-80gb"),
                    "unknown cost model 'roofline', allowed: kernels, measured, published");
  for (const std::string& name : backends::cost_model_names())
    CHECK_NOTHROW(cost(name, "h200-141gb"));
}

TEST_CASE("only cards and shapes with measured kernels are not labeled estimated") {
  for (const std::string& gpu : worker::profile_names(kDir / "gpus")) {
    CAPTURE(gpu);
    const bool measured = gpu == "h100-80gb" || gpu == "h200-141gb" || gpu == "a100-sxm-80gb";
    CHECK(cost("kernels", gpu)->estimated() == !measured);
    CHECK(cost("kernels", gpu)->label() == (measured ? "kernels" : "kernels (estimated)"));
    CHECK(cost("kernels", gpu, "opt-13b")->estimated());
    CHECK(cost("kernels", gpu, "yarn-llama-2-7b")->label() == "kernels (estimated)");
  }
}

TEST_CASE("the GEMMs of a batch-1 step take about 5.6 ms on an H100 and 4.3 ms on an H200") {
  CHECK(ms(*cost("kernels", "h100-80gb"), gemm_step(1, 1)) == Approx(5.6).epsilon(0.05));
  CHECK(ms(*cost("kernels", "h200-141gb"), gemm_step(1, 1)) == Approx(4.3).epsilon(0.05));
}

TEST_CASE("a prefill token costs 18 to 22 us on an H100 and 18 to 21 us on an H200") {
  for (const int tokens : {1024, 2048, 4096}) {
    CAPTURE(tokens);
    const double h100 = ms(*cost("kernels", "h100-80gb"), prefill_step(tokens)) * 1e3 / tokens;
    const double h200 = ms(*cost("kernels", "h200-141gb"), prefill_step(tokens)) * 1e3 / tokens;
    CHECK(h100 >= 18.0);
    CHECK(h100 <= 22.0);
    CHECK(h200 >= 18.0);
    CHECK(h200 <= 21.0);
  }
}

TEST_CASE("the H200's GEMM times are within 20 % of an independent measurement at any row count") {
  // Llama-3.1-8B, all GEMMs with logits of at most 256 rows, cuBLAS in one CUDA graph on one H200
  // SXM: not the data of the fit.
  const std::vector<std::pair<int, double>> measured = {
      {1, 3.985},   {8, 4.017},   {16, 4.060},   {32, 4.157},   {64, 4.290},   {128, 4.639},
      {256, 6.874}, {512, 11.69}, {1024, 22.14}, {2048, 43.52}, {4096, 87.27}, {8192, 173.5}};
  const auto model = cost("kernels", "h200-141gb");
  for (const auto& [rows, expected] : measured) {
    CAPTURE(rows, expected);
    CHECK(ms(*model, gemm_step(rows, std::min(rows, 256))) == Approx(expected).epsilon(0.20));
  }
}

TEST_CASE("no step is faster than the card's datasheet allows") {
  std::mt19937_64 random(7);
  for (const std::string& gpu : worker::profile_names(kDir / "gpus")) {
    const backends::GpuProfile profile = worker::load_gpu_profile(kDir, gpu);
    for (const std::string& name : worker::profile_names(kDir / "models")) {
      const model::ModelShape shape = worker::load_model_config(kDir, name).shape;
      const auto model = backends::make_cost_model("kernels", profile, shape);
      for (int i = 0; i < support::scaled(1000); ++i) {
        StepShape step = random_step(random);
        step.tokens += 1;
        const double flops =
            step.tokens * static_cast<double>(model::gemm_flops_per_token(shape)) +
            (step.prefill_tokens > 0 ? model::attention_flops(shape, step.prefill_context_products)
                                     : 0.0);
        const double bytes = static_cast<double>(
            2 * model::linear_params(shape) +
            (step.decodes > 0 ? step.decode_context_tokens * model::kv_bytes_per_token(shape) : 0));
        const double least =
            std::max(flops / profile.bf16_tflops * 1e-12, bytes / profile.hbm_gb_s * 1e-9);
        INFO(gpu << " " << name);
        REQUIRE(engine::to_seconds(model->step_time(step)) > least);
      }
    }
  }
}

TEST_CASE("more of anything never makes a step shorter") {
  std::mt19937_64 random(11);
  for (const std::string& gpu : worker::profile_names(kDir / "gpus")) {
    for (const std::string& shape : worker::profile_names(kDir / "models")) {
      const auto model = cost("kernels", gpu, shape);
      for (int i = 0; i < support::scaled(1000); ++i) {
        const StepShape step = random_step(random);
        for (int field = 0; field < kFields; ++field) {
          INFO(gpu << " " << shape << " field " << field);
          REQUIRE(model->step_time(raised(step, field, 1 + i)) >= model->step_time(step));
        }
      }
    }
  }
}

TEST_CASE("a line below a model's step times is below them for every step, and near one of them") {
  std::mt19937_64 random(11);
  for (const auto& [name, gpu] : kModelsOfCards) {
    const auto model = cost(name, gpu);
    CAPTURE(name, gpu);
    for (const int tokens : {1, 128, 512, 2048}) {
      const backends::StepLine line = model->line_below(tokens).value();
      const auto below = [&](const StepShape& step) {
        const auto kv_tokens =
            static_cast<double>(step.decode_context_tokens + step.prefill_kv_tokens);
        return 1e3 * (line.fixed_s + line.token_s * step.tokens + line.kv_token_s * kv_tokens +
                      line.pair_s * step.prefill_context_products);
      };
      for (int i = 0; i < 1000; ++i) {
        const int few = 1 + i % 40, context = i * 40;
        StepShape mixed = random_step(random);
        mixed.logits_rows = i % 2 == 0 ? 0 : mixed.logits_rows;
        if (mixed.prefill_tokens == 0) continue;  // yet reads KV for a prefill
        for (const StepShape& step : {mixed, decode_step(few, context), prefill_step(few, context)})
          REQUIRE(below(step) <= ms(*model, step));
      }
      const StepShape near = tokens == 1 ? decode_step(1, 1000) : prefill_step(tokens);
      CHECK(below(near) > 0.75 * ms(*model, near));
    }
  }
}

TEST_CASE("two prefills take at least as long as their sum in one step, or as two halves of it") {
  std::mt19937_64 random(13);
  const auto prefill = [&] {
    const int n = 1 + static_cast<int>(random() % 2048), before = static_cast<int>(random() % 9999);
    StepShape step = prefill_step(2 * n, before);
    step.logits_rows = 0;
    step.prefill_kv_tokens &= ~1;
    return step;
  };
  for (const auto& [name, gpu] : kModelsOfCards) {
    const auto model = cost(name, gpu);
    for (int i = 0; i < 2000; ++i) {
      const StepShape a = prefill(), b = prefill();
      StepShape sum = a, mean = a;
      sum.tokens = sum.prefill_tokens = a.tokens + b.tokens;
      sum.prefill_kv_tokens = a.prefill_kv_tokens + b.prefill_kv_tokens;
      sum.prefill_context_products = a.prefill_context_products + b.prefill_context_products;
      mean.tokens = mean.prefill_tokens = sum.tokens / 2;
      mean.prefill_kv_tokens = sum.prefill_kv_tokens / 2;
      mean.prefill_context_products = sum.prefill_context_products / 2;
      const double both = ms(*model, a) + ms(*model, b), rounding = 2e-6;
      REQUIRE(both >= ms(*model, sum) - rounding);
      REQUIRE(both >= 2 * ms(*model, mean) - rounding);
    }
  }
}

TEST_CASE("each kind of work makes a kernels step longer") {
  const auto model = cost("kernels", "h100-80gb");
  const double decode = ms(*model, decode_step(16, 1024));
  CHECK(ms(*model, decode_step(16, 8192)) > decode + 2.0);  // 15 GB of KV at 3 TB/s: 4.8 ms
  CHECK(ms(*model, decode_step(64, 1024)) > decode);
  CHECK(ms(*model, prefill_step(512, 16384)) > ms(*model, prefill_step(512)) + 2.0);
  StepShape every_logit = prefill_step(2048);
  every_logit.logits_rows = 2048;
  CHECK(ms(*model, every_logit) > ms(*model, prefill_step(2048)) + 2.0);
}

TEST_CASE("a short chunk behind a long prefix pays at least for reading the prefix") {
  const auto model = cost("kernels", "h100-80gb");
  const double reading_ms = 65536 * 131072.0 / 3.35e12 * 1e3;
  CHECK(ms(*model, prefill_step(8, 65536)) - ms(*model, prefill_step(8)) > reading_ms);
}

TEST_CASE("a model with more KV heads pays for the KV it reads") {
  const StepShape step = decode_step(32, 4096);
  const double gqa = ms(*cost("kernels", "h200-141gb"), step);
  const double mha = ms(*cost("kernels", "h200-141gb", "yarn-llama-2-7b"), step);
  const double more_kv_ms = 32 * 4096 * (524288.0 - 131072.0) / 4.8e12 * 1e3;
  CHECK(mha - gqa > 0.9 * more_kv_ms);
}

TEST_CASE("the host overhead of a step is added to its kernels") {
  backends::GpuProfile gpu = worker::load_gpu_profile(kDir, "h100-80gb");
  const model::ModelShape shape = worker::load_model_config(kDir, "llama-3.1-8b").shape;
  const auto without = backends::make_cost_model("kernels", gpu, shape);
  gpu.kernels.step_overhead_us = 570;
  const auto with = backends::make_cost_model("kernels", gpu, shape);
  const auto step = decode_step(4, 100);
  CHECK(std::abs((with->step_time(step) - without->step_time(step)).count() - 570'000) <= 1);
  CHECK(with->digest_text() != without->digest_text());
}

TEST_CASE("the digest text names every constant and differs between cards, models and kinds") {
  std::set<std::string> texts;
  std::size_t made = 0;
  for (const std::string& gpu : worker::profile_names(kDir / "gpus"))
    for (const std::string& shape : worker::profile_names(kDir / "models"))
      texts.insert(cost("kernels", gpu, shape)->digest_text()), ++made;
  CHECK(texts.size() == made);
  CHECK(cost("published", "h100-80gb")->digest_text() ==
        "published intercept_ms=23.7 slope_us_per_token=25.8");
  CHECK(cost("kernels", "h100-80gb")->digest_text() == cost("kernels", "h100-80gb")->digest_text());
}

TEST_CASE("a step time costs well below a microsecond to ask for") {
  const auto model = cost("kernels", "h100-80gb");
  StepShape step = decode_step(32, 8192);
  step.prefill_tokens = 512;
  constexpr int kCalls = 200'000;
  std::int64_t sum = 0;
  const engine::WallClock clock;
  const engine::Nanos start = clock.now();
  for (int i = 0; i < kCalls; ++i) {
    step.tokens = 32 + (i & 1023);
    sum += model->step_time(step).count();
  }
  const engine::Nanos taken = clock.now() - start;
  CHECK(sum > 0);
  INFO(taken.count() / kCalls << " ns a call");
  CHECK(taken.count() / kCalls < 1000);  // about 30 ns; the bound leaves room for sanitizers
}
