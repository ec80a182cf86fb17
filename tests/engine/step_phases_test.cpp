#include <string>

#include "tests/engine/support/engine_world.hpp"
#include "tests/support/catch.hpp"

namespace {

using engine::StepPhase;

/// Records what a backend is told about steps: p1 x1 e1 d1 is planned, executed, computed and done.
class Listening final : public engine::Backend {
 public:
  engine::StepResult execute(const engine::StepPlan& plan) override {
    heard += 'e' + std::to_string(plan.step) + ' ';
    for (const auto& share : plan.scheduled)
      if (share.samples) sampled_.assign(1, 1000);
    return {sampled_, engine::Nanos{1'000'000}, split};
  }
  void on_phase(StepPhase phase, std::uint64_t step) override {
    heard += "pxd"[static_cast<std::size_t>(phase)] + std::to_string(step) + ' ';
  }
  std::string heard;
  std::optional<engine::StepSplit> split;

 private:
  support::Tokens sampled_;
};

struct ListenedTo {
  const support::EngineWorldConfig config;
  engine::VirtualClock clock;
  Listening backend;
  support::CountingSink sink;
  std::unique_ptr<engine::QueueOrder> order = policies::make_order(config.policy);
  std::unique_ptr<engine::RetentionPolicy> retention = policies::make_retention(config.policy);
  engine::Engine engine{config.engine, clock, backend, *order, *retention, sink};
};

}  // namespace

TEST_CASE("a backend is notified when each step is planned, executed and done", "[engine]") {
  ListenedTo world;
  const support::Tokens prompt(20, 7);
  engine::RequestSpec spec;
  spec.prompt = prompt;
  spec.stop.max_tokens = 2;
  world.engine.submit(spec);
  world.engine.step();
  CHECK(world.backend.heard == "p1 x1 e1 d1 ");
  world.engine.step();
  CHECK(world.backend.heard == "p1 x1 e1 d1 p2 x2 e2 d2 ");
}

TEST_CASE("a step's trace has what its backend says of where the time went, if it says so") {
  ListenedTo world;
  const support::Tokens prompt(20, 7);
  engine::RequestSpec spec;
  spec.prompt = prompt;
  spec.stop.max_tokens = 2;
  world.engine.submit(spec);
  CHECK_FALSE(world.engine.step().split);
  world.backend.split = {engine::Nanos{1}, engine::Nanos{2}, engine::Nanos{3}};
  const auto split = world.engine.step().split;
  REQUIRE(split);
  CHECK(split->launch == engine::Nanos{1});
  CHECK(split->device == engine::Nanos{2});
  CHECK(split->wait == engine::Nanos{3});
}
