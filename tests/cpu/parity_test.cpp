#include <algorithm>
#include <cmath>

#include "tests/cpu/model_fixture.hpp"
#include "tests/cpu/served_jobs.hpp"

using namespace cpu_test;

namespace {

constexpr int kParityBlock = 16;

/// Each prompt as a job of one turn: all at once, then all a second time.
std::vector<Job> twice(const std::vector<ModelFixture::Prompt>& prompts) {
  std::vector<Job> jobs;
  for (int round = 0; round < 2; ++round)
    for (const auto& prompt : prompts) {
      Job& job = jobs.emplace_back();
      job.arrival = engine::Nanos(round * 1'000'000'000'000);
      job.turns.push_back({.fresh = prompt.tokens, .max_tokens = 1});
    }
  return jobs;
}

struct Setting {
  const char* name;
  int budget, threshold;
  bool caching;
};
const Setting kSettings[] = {{"one pass", 512, 0, false},
                             {"chunks of 7", 512, 7, false},
                             {"a budget of 16 and prefix hits", 16, 0, true},
                             {"one pass and prefix hits", 512, 0, true}};

Serving serving_of(const Setting& way) {
  Serving serving;
  serving.engine.kv = {
      .num_blocks = 200, .block_size = kParityBlock, .prefix_caching = way.caching};
  serving.engine.scheduler = {.max_num_batched_tokens = way.budget,
                              .max_num_seqs = 8,
                              .max_model_len = 96,
                              .long_prefill_token_threshold = way.threshold};
  return serving;
}

/// Largest distance of logits from the reference, relative to the largest logit of the prompt.
class Deviation {
 public:
  void add(std::span<const float> logits, const std::vector<int>& columns,
           const std::vector<float>& expected, int position, double scale) {
    for (std::size_t c = 0; c < columns.size(); ++c)
      add(logits[static_cast<std::size_t>(columns[c])],
          expected[static_cast<std::size_t>(position) * columns.size() + c], scale);
  }
  void add(float found, float expected, double scale) {
    // Written so that NaN counts as distant.
    const double distance = std::abs(double(found) - expected) / scale;
    if (!(distance <= greatest)) greatest = std::isnan(distance) ? 1e9 : distance;
    ++compared;
  }
  double greatest = 0;
  int compared = 0;
};

const char* const kFixtures[] = {"llama-3",      "yarn-llama-2",      "opt",     "qwen2", "qwen3",
                                 "tiny-llama-3", "tiny-yarn-llama-2", "tiny-opt"};

}  // namespace

TEST_CASE("logits are those of transformers in float32, at every position and however computed",
          "[parity]") {
  for (const char* name : kFixtures) {
    const ModelFixture fixture(name);
    const backends::CpuWeights weights(fixture.config, *fixture.weights, model::DType::f32, 1);
    for (const Setting& way : kSettings) {
      Deviation deviation;
      Serving serving = serving_of(way);
      serving.on_row = [&](int job, int, int position, std::span<const float> logits) {
        const auto& prompt =
            fixture.prompts[static_cast<std::size_t>(job) % fixture.prompts.size()];
        deviation.add(logits, fixture.columns, prompt.column_logits, position,
                      prompt.max_abs_logit);
        if (position + 1 < static_cast<int>(prompt.tokens.size())) return;
        for (std::size_t i = 0; i < logits.size(); ++i)
          deviation.add(logits[i], prompt.last_logits[i], prompt.max_abs_logit);
      };
      const Served served = serve(weights, twice(fixture.prompts), serving);
      INFO(name << ", " << way.name << ": deviation " << deviation.greatest << " of "
                << deviation.compared << " logits");
      CHECK(deviation.compared > 1000);
      CHECK(deviation.greatest <= 1e-4);
      CHECK((served.hit_tokens > 0) == way.caching);
      if (&way == kSettings) std::cout << name << ": deviation " << deviation.greatest << '\n';
    }
  }
}

TEST_CASE("the highest logits choose the same 64 tokens as with transformers", "[parity]") {
  for (const char* name : kFixtures) {
    const ModelFixture fixture(name);
    const backends::CpuWeights weights(fixture.config, *fixture.weights, model::DType::f32, 1);
    for (const Setting& way : kSettings) {
      Deviation deviation;
      Serving serving = serving_of(way);
      serving.on_row = [&](int, int, int position, std::span<const float> logits) {
        deviation.add(logits, fixture.columns, fixture.greedy_column_logits, position,
                      fixture.greedy_max_abs_logit);
      };
      std::vector<Job> jobs = twice({fixture.greedy_prompt});
      for (Job& job : jobs)
        job.turns[0].max_tokens = static_cast<int>(fixture.greedy_answer.size());
      const Served served = serve(weights, jobs, serving);
      INFO(name << ", " << way.name << ": deviation " << deviation.greatest);
      CHECK(served.answers.at({0, 0}) == fixture.greedy_answer);
      CHECK(served.answers.at({1, 0}) == fixture.greedy_answer);
      CHECK(deviation.greatest <= 1e-4);
    }
  }
}

TEST_CASE("16-bit weights and KV deviate from float32 no more than transformers does", "[parity]") {
  for (const char* name : kFixtures) {
    const ModelFixture fixture(name);
    for (const model::DType type : {model::DType::bf16, model::DType::f16}) {
      const backends::CpuWeights weights(fixture.config, *fixture.weights, type, 1);
      Deviation deviation;
      Serving serving = serving_of(kSettings[0]);
      serving.kv_type = type;
      serving.on_row = [&](int job, int, int position, std::span<const float> logits) {
        const auto& prompt =
            fixture.prompts[static_cast<std::size_t>(job) % fixture.prompts.size()];
        deviation.add(logits, fixture.columns, prompt.column_logits, position, 1);
      };
      serve(weights, twice(fixture.prompts), serving);
      INFO(name << " in " << model::to_text(type) << ": deviation " << deviation.greatest
                << ", transformers " << fixture.max_error(type));
      CHECK(deviation.greatest <= fixture.max_error(type));
      CHECK(deviation.greatest > fixture.max_error(type) / 1000);  // rounding takes place
    }
  }
}

TEST_CASE("KV of e4m3 moves logits by at most 15 % of the largest, but moves them", "[parity]") {
  for (const char* name : kFixtures) {
    const ModelFixture fixture(name);
    const backends::CpuWeights weights(fixture.config, *fixture.weights, model::DType::bf16, 1);
    std::map<std::pair<int, int>, std::vector<float>> exact;  // by job and position
    Deviation deviation;
    Serving serving = serving_of(kSettings[0]);
    serving.kv_type = model::DType::bf16;
    serving.on_row = [&](int job, int, int position, std::span<const float> logits) {
      exact[{job, position}].assign(logits.begin(), logits.end());
    };
    serve(weights, twice(fixture.prompts), serving);
    serving.kv_type = model::DType::e4m3;
    serving.on_row = [&](int job, int, int position, std::span<const float> logits) {
      const std::vector<float>& expected = exact.at({job, position});
      const auto prompt = static_cast<std::size_t>(job) % fixture.prompts.size();
      for (std::size_t i = 0; i < logits.size(); ++i)
        deviation.add(logits[i], expected[i], fixture.prompts[prompt].max_abs_logit);
    };
    serve(weights, twice(fixture.prompts), serving);
    INFO(name << ": deviation " << deviation.greatest << " of " << deviation.compared);
    std::cout << name << ", KV of e4m3: deviation " << deviation.greatest << '\n';
    CHECK(deviation.greatest <= 0.15);
    CHECK(deviation.greatest > 1e-4);
  }
}
