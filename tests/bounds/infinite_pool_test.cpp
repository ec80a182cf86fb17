// Why a run with an infinite pool is a reference and no bound on completion times.

#include "tests/engine/support/engine_world.hpp"
#include "tests/support/catch.hpp"

using namespace std::chrono_literals;

namespace {

/// Two jobs at once, each a second of work alone: 100 steps of 10 ms for each request in them. The
/// mean time at which they end.
double mean_end_s(int usable_blocks) {
  support::EngineWorld world(
      {.engine = {.kv = {.num_blocks = usable_blocks + 1},
                  .scheduler = {
                      .max_num_batched_tokens = 2048, .max_num_seqs = 2, .max_model_len = 272}}});
  world.backend.duration_of = [](const engine::StepPlan& plan) {
    return 10ms * static_cast<int>(plan.scheduled.size());
  };
  const support::Tokens a = support::tokens(160, 1), b = support::tokens(160, 2);
  world.submit(a, 100);
  const engine::RequestId last = world.submit(b, 100);
  double sum_s = 0;
  for (bool done = false; !done;) {
    for (const engine::Request* request : world.engine.step().finished) {
      sum_s += engine::to_seconds(world.clock.now());
      done = request->id == last;
    }
  }
  return sum_s / 2;
}

}  // namespace

TEST_CASE("a pool for one context ends two jobs sooner on average than one for both") {
  CHECK(mean_end_s(17) == Approx(1.5));  // at 1 and 2 s
  CHECK(mean_end_s(1000) == Approx(2));  // both at 2 s
}
