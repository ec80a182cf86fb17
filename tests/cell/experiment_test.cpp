#include "workers/cell/experiment.hpp"

#include <cmath>
#include <set>

#include "tests/cell/cell.hpp"
#include "tests/cell/tables.hpp"
#include "tests/support/catch.hpp"
#include "workers/workload/workload_report.hpp"

using support::Cell;
using support::crowded;
using support::ints;
using support::kNanosecond;
using support::longs;
using support::reals;

namespace {

Cell alone() {
  Cell cell;
  return cell.set("workload.jobs", 1).set("sim.cost_model", "published");
}

bool whole_blocks(int tokens) { return tokens % 16 == 0; }

}  // namespace

TEST_CASE("the crowded cell of these tests does queue, recompute and preempt") {
  const sweep::CellResult result = crowded("fcfs").run();
  CHECK(support::sum(ints(result.jobs, "preemptions")) > 0);
  CHECK(support::sum(reals(result.turns, "recompute_s")) > 0);
  CHECK(support::figure(result, "queue_max_s") > 1);
}

TEST_CASE("the parts of a turn's time add up to its latency, to the nanosecond") {
  for (const std::string policy : {"fcfs", "job_fcfs", "continuum"}) {
    const sweep::CellResult result = crowded(policy).run();
    const auto &queue = reals(result.turns, "queue_s"),
               &stall = reals(result.turns, "load_stall_s"),
               &recompute = reals(result.turns, "recompute_s"),
               &prefill = reals(result.turns, "prefill_s"),
               &decode = reals(result.turns, "decode_s"),
               &arrive = reals(result.turns, "t_arrive_s"),
               &finish = reals(result.turns, "t_finish_s");
    INFO(policy);
    double worst = 0;
    for (std::size_t row = 0; row < result.turns.rows(); ++row) {
      const double parts = queue[row] + stall[row] + recompute[row] + prefill[row] + decode[row];
      worst = std::max(worst, std::abs(parts - (finish[row] - arrive[row])));
    }
    CHECK(result.turns.rows() > 0);
    CHECK(worst <= kNanosecond);
  }
}

TEST_CASE("a turn is admitted, answers and ends in this order, and its waits fit its times") {
  const sweep::CellResult result = crowded("fcfs").run();
  const auto &arrive = reals(result.turns, "t_arrive_s"), &admit = reals(result.turns, "t_admit_s"),
             &first = reals(result.turns, "t_first_token_s"),
             &finish = reals(result.turns, "t_finish_s"), &queue = reals(result.turns, "queue_s"),
             &ttft = reals(result.turns, "ttft_s");
  int disordered = 0;
  for (std::size_t row = 0; row < result.turns.rows(); ++row) {
    const bool ordered =
        arrive[row] <= admit[row] && admit[row] < first[row] && first[row] <= finish[row];
    const bool waits_fit = queue[row] >= admit[row] - arrive[row] - kNanosecond &&
                           std::abs(ttft[row] - (first[row] - arrive[row])) <= kNanosecond;
    disordered += ordered && waits_fit ? 0 : 1;
  }
  CHECK(disordered == 0);
}

TEST_CASE("a job's completion time is its turns' latencies and the gaps between them") {
  for (const Cell& cell : {alone(), crowded("fcfs"), crowded("continuum")}) {
    const sweep::CellResult result = cell.run();
    const auto& gap = reals(result.turns, "gap_s");
    std::vector<double> gaps(result.jobs.rows(), 0.0);
    for (std::size_t row = 0; row < gap.size(); ++row)
      gaps[static_cast<std::size_t>(ints(result.turns, "job")[row])] += gap[row];
    for (std::size_t job = 0; job < gaps.size(); ++job) {
      const double wall = reals(result.jobs, "jct_wall_s")[job];
      CHECK(wall == Approx(reals(result.jobs, "jct_turns_s")[job] + gaps[job]).margin(1e-6));
      CHECK(gaps[job] == Approx(ints(result.jobs, "n_turns")[job] - 1));
    }
  }
}

TEST_CASE("how long a job waits for its first token, and before that for admission, are figures") {
  Cell cell = crowded("fcfs");
  const sweep::CellResult open = cell.run();
  const sweep::CellResult held = cell.set("policy.max_active_programs", 2).run();
  const auto &arrive = reals(held.jobs, "t_arrive_s"), &first = reals(held.jobs, "t_first_token_s");
  double longest = 0;
  for (std::size_t job = 0; job < arrive.size(); ++job)
    longest = std::max(longest, first[job] - arrive[job]);
  CHECK(support::figure(held, "first_token_max_s") == longest);
  CHECK(support::figure(held, "admission_max_s") < longest);
  CHECK(support::figure(held, "admission_p99_s") > 10 * support::figure(open, "admission_p99_s"));
}

TEST_CASE("every turn of every job is served, and the last one ends its job") {
  const sweep::CellResult result = crowded("continuum").run();
  const auto rows = support::turn_rows(result);
  REQUIRE(result.jobs.rows() == 16);
  for (int job = 0; job < 16; ++job) {
    const auto at = static_cast<std::size_t>(job);
    const int turns = ints(result.jobs, "n_turns")[at];
    for (int turn = 0; turn < turns; ++turn) REQUIRE(rows.contains({job, turn}));
    const std::size_t last = rows.at({job, turns - 1});
    CHECK(result.turns.values<std::int8_t>("last")[last] == 1);
    CHECK(reals(result.turns, "t_finish_s")[last] == reals(result.jobs, "t_finish_s")[at]);
  }
  CHECK(support::sum(ints(result.jobs, "n_turns")) == static_cast<double>(result.turns.rows()));
}

TEST_CASE("each turn arrives exactly one gap after the last token of the turn before") {
  const sweep::CellResult result = crowded("fcfs").run();
  const auto rows = support::turn_rows(result);
  const auto &arrive = reals(result.turns, "t_arrive_s"),
             &finish = reals(result.turns, "t_finish_s");
  double worst = 0;
  for (const auto& [turn, row] : rows) {
    if (turn.second == 0) continue;
    const std::size_t before = rows.at({turn.first, turn.second - 1});
    worst = std::max(worst, std::abs(arrive[row] - finish[before] - 1.0));
  }
  CHECK(worst <= kNanosecond);
}

TEST_CASE(
    "a server's requests reach its scheduler later than they arrive by its own time for one") {
  worker::ExperimentConfig config =
      alone().set("gpu", "h200-141gb").set("sim.cost_model", "measured").config();
  const auto ttft = [&](double request_ms) {
    config.gpu.measured->request_ms = request_ms;
    worker::WorkloadCache workloads;
    return reals(worker::run_experiment(config, workloads).turns, "ttft_s");
  };
  const std::vector<double> without = ttft(0), with = ttft(12);
  REQUIRE(with.size() == without.size());
  for (std::size_t turn = 0; turn < with.size(); ++turn)
    CHECK(std::abs(with[turn] - without[turn] - 0.012) <= 2 * kNanosecond);
}

TEST_CASE("what was scheduled in a step is what the step computed") {
  const sweep::CellResult result = crowded("fcfs").run();
  std::map<std::int64_t, std::int64_t> scheduled;
  for (std::size_t row = 0; row < result.sched.rows(); ++row)
    scheduled[longs(result.sched, "step")[row]] += ints(result.sched, "tokens")[row];
  int different = 0, over_budget = 0;
  for (std::size_t row = 0; row < result.steps.rows(); ++row) {
    const int tokens = ints(result.steps, "n_tok")[row];
    different += scheduled[longs(result.steps, "step")[row]] == tokens ? 0 : 1;
    over_budget += tokens > 2048 ? 1 : 0;
  }
  CHECK(different == 0);
  CHECK(over_budget == 0);
  CHECK(support::sum(ints(result.sched, "tokens")) == support::sum(ints(result.steps, "n_tok")));
}

TEST_CASE("steps are numbered from 1 and follow each other without overlap") {
  const sweep::CellResult result = crowded("fcfs").run();
  const auto &start = reals(result.steps, "t_s"), &duration = reals(result.steps, "dur_s");
  int overlaps = 0;
  for (std::size_t row = 1; row < result.steps.rows(); ++row)
    overlaps += start[row] < start[row - 1] + duration[row - 1] - kNanosecond ? 1 : 0;
  CHECK(overlaps == 0);
  CHECK(longs(result.steps, "step").front() == 1);
  CHECK(longs(result.steps, "step").back() == static_cast<std::int64_t>(result.steps.rows()));
}

TEST_CASE("progress is reported after every step, and finally as not serving") {
  const worker::BoundCell bound = crowded("fcfs").bind();
  std::vector<worker::Progress> told;
  worker::WorkloadCache workloads;
  const auto result = worker::run_experiment(
      bound.config, workloads,
      {.progress = [&](const worker::Progress& progress) { told.push_back(progress); },
       .stop = {}});
  std::set<std::uint64_t> steps;
  for (const worker::Progress& each : told) steps.insert(each.steps);
  CHECK(steps.size() >= result.steps.rows());
  CHECK(told.front().serving);
  CHECK_FALSE(told.back().serving);
  CHECK(told.back().finished_jobs == told.back().jobs);
}

TEST_CASE("an idle engine reports progress every few seconds of its clock, and can be stopped") {
  const worker::BoundCell bound = alone().set("workload.gap_s", 100.0).bind();
  std::stop_source stop;
  int told = 0;
  worker::WorkloadCache workloads;
  const auto ask = [&](const worker::Progress& progress) {
    told += progress.now_s > 20;
    if (progress.now_s > 60) stop.request_stop();
  };
  CHECK_THROWS_AS(
      worker::run_experiment(bound.config, workloads, {.progress = ask, .stop = stop.get_token()}),
      worker::CellAbandoned);
  CHECK(told >= 8);
}

TEST_CASE("a job alone finds all whole blocks of the turn before in the prefix cache") {
  const sweep::CellResult result = alone().run();
  const auto prompt = support::by_turn<std::int32_t>(result, "prompt_tok");
  const auto output = support::by_turn<std::int32_t>(result, "output_tok");
  const auto cached = support::by_turn<std::int32_t>(result, "cached_gpu_tok");
  REQUIRE(cached.size() > 9);
  CHECK(cached[0] == 0);
  for (std::size_t turn = 1; turn < cached.size(); ++turn) {
    // The last token of an answer is sampled, never computed; one prompt token always is.
    const int left_behind = prompt[turn - 1] + output[turn - 1] - 1;
    CHECK(cached[turn] == std::min(left_behind, prompt[turn] - 1) / 16 * 16);
    CHECK(whole_blocks(cached[turn]));
  }
}

TEST_CASE("a job alone takes the steps that the token budget of each turn implies") {
  const worker::ExperimentConfig config = alone().config();
  worker::WorkloadCache workloads;
  const worker::Load load = workloads.load(config.workload, config.engine.scheduler.max_model_len);
  const sweep::CellResult result = alone().run();
  std::map<int, int> steps_of_turn;
  for (const int turn : ints(result.sched, "turn")) ++steps_of_turn[turn];
  const workload::Job& job = load.workload.jobs.front();
  for (int turn = 0; turn < static_cast<int>(job.turns.size()); ++turn) {
    const workload::TokenBudget budget = workload::token_budget(job, turn, {16, 2048});
    CHECK(steps_of_turn[turn] == budget.min_steps);
    const std::size_t row = support::turn_rows(result).at({0, turn});
    CHECK(ints(result.turns, "cached_gpu_tok")[row] == budget.reusable_tokens);
  }
}

TEST_CASE("the same cell gives the same tables and figures every time") {
  for (const std::string policy : {"fcfs", "continuum"}) {
    const sweep::CellResult once = crowded(policy).run(), again = crowded(policy).run();
    CHECK(support::differing_tables(once, again).empty());
    for (const sweep::Figure& figure : once.figures) {
      const double same = support::figure(again, figure.name);
      CHECK((figure.value == same || (std::isnan(figure.value) && std::isnan(same))));
    }
  }
}

TEST_CASE("jobs left over from the cell before change nothing") {
  worker::WorkloadCache workloads;
  const auto run_after_others = [&](const Cell& cell) {
    return worker::run_experiment(cell.config(), workloads);
  };
  Cell shorter = crowded("fcfs"), other_jobs = crowded("fcfs"), agents = crowded("fcfs");
  shorter.set("workload.max_context", 8192);
  other_jobs.set("workload.seed", 7);
  agents.set("workload.kind", "agent8");
  Cell fewer = agents, slower = agents;
  fewer.set("workload.jobs", 3);
  slower.set("workload.gap_s", 2.0);
  for (const Cell& cell : {crowded("fcfs"), crowded("continuum"), shorter, other_jobs, agents,
                           fewer, slower, crowded("fcfs")}) {
    CHECK(support::differing_tables(run_after_others(cell), cell.run()).empty());
  }
}

TEST_CASE("another seed of the repeat moves the arrivals and leaves the jobs as they are") {
  const sweep::CellResult a = crowded("fcfs").run(1), b = crowded("fcfs").run(2);
  CHECK(reals(a.jobs, "t_arrive_s") != reals(b.jobs, "t_arrive_s"));
  CHECK(a.jobs.values<std::string>("id") == b.jobs.values<std::string>("id"));
  CHECK(support::by_turn<std::int32_t>(a, "prompt_tok") ==
        support::by_turn<std::int32_t>(b, "prompt_tok"));
  CHECK(support::by_turn<std::int32_t>(a, "output_tok") ==
        support::by_turn<std::int32_t>(b, "output_tok"));
}

TEST_CASE("another seed of the workload changes the jobs and leaves the arrivals as they are") {
  Cell other = crowded("fcfs");
  const sweep::CellResult a = other.run(), b = other.set("workload.seed", 7).run();
  CHECK(reals(a.jobs, "t_arrive_s") == reals(b.jobs, "t_arrive_s"));
  CHECK(ints(a.jobs, "n_turns") != ints(b.jobs, "n_turns"));
}

TEST_CASE("policies of one repeat face the same arrivals") {
  CHECK(reals(crowded("fcfs").run().jobs, "t_arrive_s") ==
        reals(crowded("continuum").run().jobs, "t_arrive_s"));
}

TEST_CASE("a window decides the number of jobs from the rate and the seed") {
  Cell cell;
  cell.set("workload.kind", "agent8").set("workload.window_s", 45).set("jps", 6);
  worker::WorkloadCache workloads;
  const worker::Load load = workloads.load(cell.config().workload, 16384);
  CHECK(load.workload.jobs.size() == 255);
  CHECK(load.arrivals.size() == 255);
  CHECK(load.arrivals.back() <= engine::from_seconds(45));
}

TEST_CASE("a window without arrivals is refused") {
  Cell cell;
  cell.set("workload.window_s", 0.001).set("jps", 0.001);
  CHECK_THROWS_AS(cell.run(), worker::InputError);
}

TEST_CASE("a closed batch starts every job at zero") {
  const sweep::CellResult result =
      crowded("fcfs").without("jps").set("workload.arrivals", "closed").run();
  CHECK(reals(result.jobs, "t_arrive_s") == std::vector<double>(16, 0.0));
}

TEST_CASE("the figures are those of the tables") {
  const sweep::CellResult result = crowded("fcfs").run();
  CHECK(support::figure(result, "steps") == static_cast<double>(result.steps.rows()));
  CHECK(support::figure(result, "turns") == static_cast<double>(result.turns.rows()));
  CHECK(support::figure(result, "jobs") == 16);
  CHECK(support::figure(result, "jct_wall_mean_s") ==
        Approx(support::sum(reals(result.jobs, "jct_wall_s")) / 16));
  CHECK(support::figure(result, "makespan_s") ==
        *std::ranges::max_element(reals(result.jobs, "t_finish_s")));
  CHECK(support::figure(result, "preemptions") == support::sum(ints(result.jobs, "preemptions")));
  CHECK(support::figure(result, "prefix_hit_rate") ==
        Approx(support::sum(ints(result.turns, "cached_gpu_tok")) /
               support::sum(ints(result.turns, "prompt_tok"))));
}
