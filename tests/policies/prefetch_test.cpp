#include "tests/policies/requests.hpp"
#include "tests/support/catch.hpp"
#include "workers/engine/base/errors.hpp"

using namespace std::chrono_literals;
using engine::AwaitedKv;
using engine::JobId;
using engine::LoadTime;
using engine::Nanos;
using engine::Scarcity;
using policy_test::Requests;

namespace {

/// An oracle with gaps of 2 s, and 1 ms per token to recompute KV.
policies::PolicyConfig config(const std::string& prefetch, const std::string& scoring = "S5") {
  policies::PolicyConfig config;
  config.prefetch = prefetch;
  config.scoring = scoring;
  config.reload = {0, 1e-3, 0};
  config.estimator.truth = [](JobId, int) { return Nanos{2s}; };
  config.estimator.hints = config.estimator.truth;
  return config;
}

std::string refusal(const policies::PolicyConfig& config) {
  try {
    policies::make_prefetch(config);
  } catch (const engine::InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("each scoring counts one thing more", "[prefetch]") {
  AwaitedKv kv;
  kv.context_tokens = 4000;
  kv.missing_tokens = 1000;  // 1 s to recompute
  kv.held = 2s;
  kv.until_use = 4s;
  kv.load_time = 50ms;
  kv.loads_delayed = 2;
  const Scarcity scarce{.vram_price = 1e-3, .dram_price = 1e-4, .running = 3};
  const auto score = [&](const char* scoring) {
    return policies::make_prefetch(config("oracle", scoring))->score(kv, scarce);
  };
  CHECK(score("S1") == Approx(1));
  CHECK(score("S2") == Approx(1 + 3));           // three others wait for a second
  CHECK(score("S3") == Approx(4 - 2));           // 1000 tokens for 2 s at 1e-3
  CHECK(score("S4") == Approx(2 - 0.4));         // 1000 tokens for 4 s at 1e-4
  CHECK(score("S5") == Approx(1.6 - 2 * 0.05));  // two others wait for 50 ms
  kv.late = 500ms;
  CHECK(score("S1") == Approx(0.5));
}

TEST_CASE("scorings from S4 on rank host memory", "[prefetch]") {
  CHECK_FALSE(policies::make_prefetch(config("oracle", "S3"))->ranks_host_tier());
  CHECK(policies::make_prefetch(config("oracle", "S4"))->ranks_host_tier());
}

TEST_CASE("a recomputation covers the end of the context", "[prefetch]") {
  auto quadratic = config("oracle");
  quadratic.reload = {0, 0, 1e-6};
  const auto prefetch = policies::make_prefetch(quadratic);
  CHECK(prefetch->recompute_s(1000, 1000) == Approx(1));
  CHECK(prefetch->recompute_s(1000, 500) == Approx(0.75));
}

TEST_CASE("a return is predicted once the turn has ended, and never lies in the past",
          "[prefetch]") {
  Requests requests;
  const auto prefetch = policies::make_prefetch(config("oracle"));
  CHECK(prefetch->load_time(JobId{0}, false) == LoadTime::on_demand);
  prefetch->on_arrival(requests.make({.job = 0}));
  prefetch->on_turn_finish(requests.make({.job = 0}), 10s);
  CHECK(prefetch->load_time(JobId{0}, false) == LoadTime::in_time);
  CHECK(engine::to_seconds(prefetch->returns_by(JobId{0}, 0.5, 11s)) == Approx(12));
  CHECK(prefetch->returns_by(JobId{0}, 0.5, 13s) == 13s);
}

TEST_CASE("an unknown tool has no prediction, and counts as an average one", "[prefetch]") {
  Requests requests;
  const auto prefetch = policies::make_prefetch(config("tool_mean"));
  prefetch->on_arrival(requests.make({.job = 0, .tool = 1}));
  prefetch->on_turn_finish(requests.make({.job = 0, .tool = 1}), 0s);
  CHECK(prefetch->load_time(JobId{0}, false) == LoadTime::on_demand);
  CHECK(prefetch->load_time(JobId{0}, true) == LoadTime::in_time);  // its turn waits
  prefetch->on_arrival(requests.make({.job = 0, .turn = 1, .arrival_s = 8, .tool = 1}));
  prefetch->on_turn_finish(requests.make({.job = 0, .turn = 1, .tool = 2}), 10s);
  CHECK(prefetch->load_time(JobId{0}, false) == LoadTime::on_demand);
  // Half of an exponential of mean 8 s.
  CHECK(engine::to_seconds(prefetch->returns_by(JobId{0}, 0.5, 10s)) ==
        Approx(10 + 8 * std::log(2)));
}

TEST_CASE("prefetch at pause loads while the tool runs, at enqueue once its turn waits",
          "[prefetch]") {
  const auto load_times = [](const char* name) {
    const auto prefetch = policies::make_prefetch(config(name));
    return std::pair(prefetch->load_time(JobId{0}, false), prefetch->load_time(JobId{0}, true));
  };
  CHECK(load_times("at_pause") == std::pair(LoadTime::with_room, LoadTime::with_room));
  CHECK(load_times("at_enqueue") == std::pair(LoadTime::on_demand, LoadTime::with_room));
}

TEST_CASE("prefetch by a name that there is not is refused with what there is", "[prefetch]") {
  CHECK(policies::make_prefetch(config("none")) == nullptr);
  CHECK(refusal(config("crystal_ball")) ==
        "policy.prefetch must be one of \"none\", \"at_pause\", \"at_enqueue\", \"tool_mean\", "
        "\"tool_cdf\", \"lognormal\", "
        "\"client_hint\", \"oracle\", found \"crystal_ball\"");
  CHECK(refusal(config("oracle", "S6")) ==
        "policy.scoring must be one of \"S1\", \"S2\", \"S3\", \"S4\", \"S5\", found \"S6\"");
  auto ignorant = config("oracle");
  ignorant.reload = {};
  CHECK(refusal(ignorant) == "policy.prefetch needs to know what a prefill costs");
}
