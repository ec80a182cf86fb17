#include "workers/cell/estimate.hpp"

#include "tests/cell/cell.hpp"
#include "tests/support/catch.hpp"

using support::Cell;
using worker::Absence;

namespace {

Absence absence(const Cell& cell) {
  worker::WorkloadCache workloads;
  return worker::absence_of(cell.bind().config, workloads);
}

Cell agents() { return Cell().set("sim.cost_model", "measured").set("engine.kv_tokens", 400'000); }

}  // namespace

TEST_CASE("while a job is away a card computes full steps, as many as its answer and gap take") {
  const Absence found = absence(agents());
  // By the constants of sweeps/gpus/h100-80gb.toml; a prompt has 7,737 tokens on average.
  const double of_token = 20.45e-6 + 907.8e-12 * 7736.6 / 2;
  CHECK(found.step_s == Approx(6.151e-3 + 2048 * of_token + 7736.6 * 40.47e-9).epsilon(1e-5));
  CHECK(found.gap_s == Approx(1));
  CHECK(found.answer == Approx(41.15).epsilon(1e-3));
  CHECK(found.tokens == Approx(2048 * (found.answer + 1 / found.step_s)).epsilon(1e-3));
}

TEST_CASE("less is computed while a job is away with a smaller budget or a shorter gap") {
  const double tokens = absence(agents()).tokens;
  CHECK(absence(agents().set("engine.max_num_batched_tokens", 512)).tokens < tokens / 2);
  const Absence no_gap = absence(agents().set("workload.gap_s", 0.0));
  CHECK(no_gap.gap_s == 0);
  CHECK(no_gap.tokens == Approx(2048 * no_gap.answer));
}

TEST_CASE("no more is computed while a job is away than all prompts of the workload") {
  const Absence few = absence(agents().set("workload.jobs", 2).set("workload.gap_s", 1000.0));
  CHECK(few.tokens < 2048 * 1000 / few.step_s);
  CHECK(few.tokens ==
        absence(agents().set("workload.jobs", 2).set("workload.gap_s", 2000.0)).tokens);
}
