#include "tests/support/catch.hpp"
#include "workers/backends/sim/sim_backend.hpp"
#include "workers/engine/base/errors.hpp"

namespace {

struct Instant final : backends::CostModel {
  engine::Nanos step_time(const backends::StepShape&) const override { return engine::Nanos{1}; }
  std::string label() const override { return "instant"; }
  bool estimated() const override { return false; }
  std::string digest_text() const override { return {}; }
};

/// A step in which a request with an answer of `given` tokens generates token `generated`.
struct Sampling {
  Sampling(std::size_t given, std::size_t generated) : answer(given, 7) {
    request.spec.prompt = prompt;
    request.spec.forced = answer;
    request.spec.max_tokens = 9;
    request.outputs.assign(generated, 7);
    plan.total_tokens = 1;
    plan.scheduled.push_back(
        {&request, engine::SchedKind::running, 1, request.num_tokens() - 1, 0, true, true});
  }
  engine::StepResult execute() const {
    const Instant cost;
    return backends::SimBackend(cost).execute(plan);
  }
  std::vector<engine::TokenId> prompt = {1, 2, 3}, answer;
  engine::Request request;
  engine::StepPlan plan;
};

}  // namespace

TEST_CASE("an answer that is shorter than its request allows is refused where its tokens run out") {
  CHECK(Sampling(3, 2).execute().duration == engine::Nanos{1});
  CHECK_THROWS_AS(Sampling(3, 3).execute(), engine::InputError);
  CHECK_THROWS_WITH(Sampling(0, 0).execute(),
                    Catch::Matchers::Contains("ends after 0 of up to 9 tokens"));
}

TEST_CASE("a step takes longer by the host's work for a tier and its loads") {
  using namespace std::chrono_literals;
  const Sampling step(3, 1);
  const Instant cost;
  backends::SimBackend backend(cost);
  backends::LinkCopier link({.load_gb_s = 1, .store_gb_s = 1, .bytes_per_block = 1000});
  backend.add_tier_work(link, 5us, 3us);
  CHECK(backend.execute(step.plan).duration == 5us + 1ns);
  link.submit(engine::CopyDirection::load, std::vector<engine::BlockCopy>(2), 0ns);
  link.submit(engine::CopyDirection::store, std::vector<engine::BlockCopy>(5), 0ns);
  CHECK(backend.execute(step.plan).duration == 5us + 6us + 1ns);
  CHECK(backend.execute(step.plan).duration == 5us + 1ns);
}
