#include <cmath>
#include <cstring>
#include <limits>

#include "tests/cpu/content_ledger.hpp"
#include "tests/cpu/hand_plan.hpp"
#include "workers/backends/errors.hpp"
#include "workers/engine/base/errors.hpp"

using namespace cpu_test;
using backends::Checks;
using backends::CorruptBlock;
using backends::CpuBackend;
using backends::NotFinite;

namespace {

constexpr int kBlock = 4;
const backends::KvPool kPool{.num_blocks = 12, .block_size = kBlock};

backends::CpuOptions with(Checks checks) {
  backends::CpuOptions options;
  options.kv_type = model::DType::f32;
  options.checks = checks;
  return options;
}

/// Random weights with one NaN parameter.
class PoisonedWeights final : public model::WeightSource {
 public:
  PoisonedWeights(const model::ModelConfig& config, std::string name)
      : source_(model::random_weights(config, 1)), name_(std::move(name)) {}
  std::string describe() const override { return "random weights without " + name_; }
  std::string digest() const override { return describe(); }
  void read(const model::Parameter& parameter, model::DType type,
            std::span<std::byte> out) const override {
    source_->read(parameter, type, out);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    if (parameter.name == name_)
      for (std::size_t i = 0; i < out.size(); i += sizeof nan)
        std::memcpy(&out[i], &nan, sizeof nan);
  }

 private:
  std::unique_ptr<model::WeightSource> source_;
  std::string name_;
};

std::string error_without(const std::string& parameter) {
  const auto config = small_model(model::Architecture::llama);
  const backends::CpuWeights broken(config, PoisonedWeights(config, parameter), model::DType::f32,
                                    1);
  CpuBackend backend(broken, kPool, with(Checks::debug));
  HandPlans plans(kBlock);
  engine::Request& request = plans.request(small_tokens(6), {1, 2});
  try {
    backend.execute(plans.step({{request, 0, 6, 2}}));
  } catch (const NotFinite& error) {
    return error.what();
  }
  throw std::logic_error("no check detected that " + parameter + " is NaN");
}

std::vector<engine::TokenId> sampled(engine::Backend& backend, const engine::StepPlan& plan) {
  const auto tokens = backend.execute(plan).sampled;
  return {tokens.begin(), tokens.end()};
}

}  // namespace

TEST_CASE("a step samples one token for every request with all tokens computed", "[cpu]") {
  CpuBackend computing(small_llama(), kPool, with(Checks::debug));
  CheckedBackend backend(computing);
  HandPlans plans(kBlock);
  engine::Request& a = plans.request(small_tokens(6), {1, 2});
  engine::Request& b = plans.request(small_tokens(5, 30), {3, 4});
  engine::Request& c = plans.request(small_tokens(1, 9), {5});
  CHECK(sampled(backend, plans.step({{a, 0, 3, 1}, {b, 0, 4, 1}})).empty());
  const auto both = sampled(backend, plans.step({{a, 3, 6, 1}, {b, 4, 5, 1}, {c, 0, 1, 1}}));
  REQUIRE(both.size() == 3);
  CHECK(sampled(backend, plans.step({{a, 5, 6}})) == std::vector{both[0]});
  CHECK(sampled(backend, plans.step({{b, 4, 5}})) == std::vector{both[1]});
  CHECK(sampled(backend, plans.step({{c, 0, 1}})) == std::vector{both[2]});
}

TEST_CASE("a step without requests samples nothing", "[cpu]") {
  CpuBackend backend(small_llama(), kPool, with(Checks::debug));
  CHECK(backend.execute(HandPlans(kBlock).step({})).sampled.empty());
}

TEST_CASE("an observer sees the logits of sampled positions, or of every one", "[cpu]") {
  std::vector<std::pair<std::uint32_t, int>> seen;
  backends::CpuOptions options = with(Checks::off);
  options.on_logits = [&](const backends::LogitsRow& row) {
    CHECK(static_cast<int>(row.logits.size()) == small_llama().shape().vocab);
    seen.emplace_back(engine::index(row.request), row.position);
  };
  const auto run = [&] {
    CpuBackend backend(small_llama(), kPool, options);
    HandPlans plans(kBlock);
    engine::Request& a = plans.request(small_tokens(3), {1});
    engine::Request& b = plans.request(small_tokens(9, 30), {2, 3, 4});
    seen.clear();
    return backend.execute(plans.step({{a, 0, 3, 1}, {b, 0, 8, 2}})).sampled.size();
  };
  using Seen = decltype(seen);
  CHECK(run() == 1);
  CHECK(seen == Seen{{0, 2}});
  options.logits_at = backends::LogitsAt::every_position;
  CHECK(run() == 1);
  CHECK(
      seen ==
      Seen{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}, {1, 6}, {1, 7}});
}

TEST_CASE("a request reads blocks that another one fills in the same step", "[cpu]") {
  CpuBackend computing(small_llama(), kPool, with(Checks::debug));
  CheckedBackend backend(computing);
  HandPlans plans(kBlock);
  engine::Request& fills = plans.request(small_tokens(9), {1, 2, 3});
  engine::Request& shares = plans.request(small_tokens(9), {1, 2, 4});
  const auto tokens = sampled(backend, plans.step({{fills, 0, 9, 3}, {shares, 8, 9, 1}}));
  CHECK(tokens.at(0) == tokens.at(1));
  // Both blocks are cached, one of them with a free slot.
  engine::Request& again = plans.request(small_tokens(9), {5, 6, 7});
  engine::Request& hits = plans.request(small_tokens(9), {5, 6, 8});
  CHECK(sampled(backend, plans.step({{again, 0, 7, 2}})).empty());
  CHECK(sampled(backend, plans.step({{again, 7, 9, 1}, {hits, 8, 9, 1}})) == tokens);
}

TEST_CASE("tokens and positions beyond the model are refused", "[cpu]") {
  CpuBackend backend(small_llama(), {.num_blocks = 200, .block_size = kBlock}, with(Checks::off));
  HandPlans plans(kBlock);
  engine::Request& beyond = plans.request({3, 61}, {1});
  CHECK_THROWS_WITH(backend.execute(plans.step({{beyond, 0, 2, 1}})),
                    "model small-llama has no token 61; allowed is 0 to 60");
  engine::Request& longest = plans.request(small_tokens(513), std::vector<std::uint32_t>(129, 1));
  CHECK_THROWS_WITH(backend.execute(plans.step({{longest, 512, 513}})),
                    "model small-llama has no position 512; allowed is 0 to 511");
}

TEST_CASE("a NaN is reported with the step and the first layer that has it", "[cpu][debug]") {
  const std::string wrong = " gives NaN or infinity at position ";
  CHECK(error_without("embedding.weight") == "step 1: the embedding" + wrong + "0 of request 0");
  CHECK(error_without("layers.0.qkv.weight") == "step 1: layer 0" + wrong + "0 of request 0");
  CHECK(error_without("layers.1.down.weight") == "step 1: layer 1" + wrong + "0 of request 0");
  CHECK(error_without("head.weight") == "step 1: the output head" + wrong + "5 of request 0");
}

TEST_CASE("KV that is read before it was written shows as NaN", "[cpu][debug]") {
  CpuBackend computing(small_llama(), kPool, with(Checks::debug));
  CheckedBackend backend(computing);
  HandPlans plans(kBlock);
  engine::Request& before = plans.request(small_tokens(8, 30), {1, 2});
  engine::Request& request = plans.request(small_tokens(8), {1, 2});
  backend.execute(plans.step({{before, 0, 8, 2}}));
  backend.execute(plans.step({{request, 0, 5, 2}}));
  // Position 5 is skipped: the block still held another request's KV there.
  const engine::StepPlan& skipping = plans.step({{request, 6, 8}});
  CHECK_THROWS_MATCHES(
      backend.execute(skipping), NotFinite,
      Catch::Matchers::Message("step 3: layer 0 gives NaN or infinity at position 6 of request 1"));
}

TEST_CASE("the next request that reads a cached block detects a changed bit", "[cpu][debug]") {
  CpuBackend computing(small_llama(), kPool, with(Checks::debug));
  CheckedBackend backend(computing);
  HandPlans plans(kBlock);
  engine::Request& first = plans.request(small_tokens(9), {1, 2, 3});
  engine::Request& second = plans.request(small_tokens(9), {1, 2, 4});
  const auto tokens = sampled(backend, plans.step({{first, 0, 9, 3}}));
  CHECK(sampled(backend, plans.step({{second, 8, 9, 1}})) == tokens);
  std::byte& byte = computing.arena().block(2)[5];
  byte ^= std::byte{1};
  try {
    backend.execute(plans.step({{second, 8, 9}}));
    FAIL("the corruption was not detected");
  } catch (const CorruptBlock& error) {
    CHECK_THAT(error.what(),
               Catch::Matchers::Contains("KV block 2 (step 3, read by request 1)") &&
                   !Catch::Matchers::Matches(".*expected checksum ([0-9a-f]+), found \\1"));
  }
  byte ^= std::byte{1};
  CHECK(sampled(backend, plans.step({{second, 8, 9}})) == tokens);
}

TEST_CASE("a prefix hit on another prompt's block is noticed", "[cpu][debug]") {
  CpuBackend computing(small_llama(), kPool, with(Checks::debug));
  CheckedBackend backend(computing);
  HandPlans plans(kBlock);
  engine::Request& a = plans.request(small_tokens(5), {1, 2});
  engine::Request& b = plans.request(small_tokens(5, 30), {3, 4});
  backend.execute(plans.step({{a, 0, 5, 2}, {b, 0, 5, 2}}));
  engine::Request& wrong = plans.request(small_tokens(5), {3, 5});
  CHECK_THROWS_AS(backend.execute(plans.step({{wrong, 4, 5, 1}})), CorruptBlock);
  engine::Request& unknown = plans.request(small_tokens(5, 50), {1, 6});
  CHECK_THROWS_WITH(backend.execute(plans.step({{unknown, 4, 5, 1}})),
                    Catch::Matchers::Contains("never filled"));
}

TEST_CASE("without checks a changed bit goes undetected", "[cpu][debug]") {
  CpuBackend backend(small_llama(), kPool, with(Checks::off));
  HandPlans plans(kBlock);
  engine::Request& request = plans.request(small_tokens(9), {1, 2, 3});
  backend.execute(plans.step({{request, 0, 9, 3}}));
  backend.arena().block(2)[5] ^= std::byte{1};
  CHECK(sampled(backend, plans.step({{request, 8, 9}})).size() == 1);
}
