// Cells whose server writes its steps: the scripted one writes them as kvsweep.vllm does.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "analysis/digest/fits.hpp"
#include "tests/server/world.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using support::note;
using support::ServerWorld;

namespace {

ServerWorld& logging(ServerWorld& world, const std::string& words = "") {
  world.scripted("vllm", words).put("server.steps", true);
  return world;
}

}  // namespace

TEST_CASE("a cell has the steps that its server writes, each with what it computed and for whom") {
  ServerWorld world;
  const sweep::CellResult cell = logging(world).run();
  CHECK(note(cell, "server_steps") == "asynchronous");
  const auto &prompt = cell.turns.values<std::int32_t>("prompt_tok"),
             &output = cell.turns.values<std::int32_t>("output_tok"),
             &cached = cell.turns.values<std::int32_t>("cached_gpu_tok"),
             &job = cell.turns.values<std::int32_t>("job"),
             &turn = cell.turns.values<std::int32_t>("turn");
  std::map<std::pair<int, int>, int> computed, found;
  const auto &tokens = cell.sched.values<std::int32_t>("tokens"),
             &before = cell.sched.values<std::int32_t>("computed_before"),
             &of_job = cell.sched.values<std::int32_t>("job"),
             &of_turn = cell.sched.values<std::int32_t>("turn");
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto [at, first] = found.try_emplace({of_job[i], of_turn[i]}, before[i]);
    CHECK(before[i] == at->second + computed[at->first]);
    computed[at->first] += tokens[i];
  }
  REQUIRE(found.size() == cell.turns.rows());
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    CHECK(found[{job[i], turn[i]}] == cached[i]);
    CHECK(computed[{job[i], turn[i]}] == prompt[i] - cached[i] + output[i] - 1);
  }
}

TEST_CASE("steps stand on the cell's clock, and each turn's fall between its sending and its end") {
  ServerWorld world;
  const sweep::CellResult cell = logging(world, "--no-async-scheduling").run();
  CHECK(note(cell, "server_steps") == "synchronous");
  const auto &start = cell.steps.values<double>("t_s"), &took = cell.steps.values<double>("dur_s"),
             &planned = cell.steps.values<double>("t_schedule_s");
  const auto &arrive = cell.turns.values<double>("t_arrive_s"),
             &finish = cell.turns.values<double>("t_finish_s");
  REQUIRE(!start.empty());
  CHECK(start.front() > *std::ranges::min_element(arrive));
  CHECK(start.back() < *std::ranges::max_element(finish));
  for (const double each : took) CHECK(each >= 0);
  CHECK(planned.front() == Approx(7e-6));
  CHECK(cell.evictions.rows() == 0);
  analysis::StepFit fit;
  fit.add(cell.steps, cell.sched);
  CHECK(fit.steps() == static_cast<std::int64_t>(cell.steps.rows()));
}

TEST_CASE("a turn's time is told by the steps: in queue, in prefill and in decodes") {
  ServerWorld world;
  const sweep::CellResult cell = logging(world, "--no-async-scheduling").run();
  const auto &arrive = cell.turns.values<double>("t_arrive_s"),
             &finish = cell.turns.values<double>("t_finish_s"),
             &admit = cell.turns.values<double>("t_admit_s"),
             &queue = cell.turns.values<double>("queue_s"),
             &prefill = cell.turns.values<double>("prefill_s"),
             &again = cell.turns.values<double>("recompute_s"),
             &decode = cell.turns.values<double>("decode_s");
  for (std::size_t i = 0; i < arrive.size(); ++i) {
    CHECK(admit[i] > arrive[i]);
    CHECK(admit[i] < finish[i]);
    CHECK(queue[i] >= admit[i] - arrive[i]);
    CHECK(prefill[i] + again[i] > 0);
    CHECK(decode[i] > 0);
  }
  const std::vector<double>& of_jobs = cell.jobs.values<double>("queue_s");
  CHECK(std::accumulate(of_jobs.begin(), of_jobs.end(), 0.0) ==
        Approx(std::accumulate(queue.begin(), queue.end(), 0.0)));
  CHECK(figure(cell, "steps") == static_cast<double>(cell.steps.rows()));
  CHECK(figure(cell, "computed_tok") > 0);
}

TEST_CASE("each cell of one server has its own steps") {
  ServerWorld world;
  const auto first = logging(world).run(), second = world.run();
  CHECK(world.starts() == 1);
  CHECK(first.steps.rows() == second.steps.rows());
  CHECK(second.steps.values<double>("t_s").front() > 0);
}

TEST_CASE("a cell whose log of steps is cut off is kept, and says that its steps are short") {
  ServerWorld world;
  const sweep::CellResult cell = logging(world, "--fault cut-steps --after 3").run();
  CHECK(cell.turns.rows() == 16);
  CHECK_THAT(note(cell, "server_steps"),
             Contains("asynchronous; steps are short") && Contains("cut off"));
  CHECK(std::ranges::any_of(cell.jobs.values<double>("queue_s"),
                            [](double seconds) { return std::isnan(seconds); }));
}

TEST_CASE("a cell whose log of steps holds what is none is kept, and names the line") {
  ServerWorld world;
  const sweep::CellResult cell = logging(world, "--fault deep-steps --after 3").run();
  CHECK(cell.turns.rows() == 16);
  CHECK_THAT(note(cell, "server_steps"),
             Contains("steps are short: line ") && Contains("JSON of more than 256 levels"));
}

TEST_CASE("a server that writes no steps, or those of another version, is refused at its start") {
  ServerWorld silent, old;
  CHECK_THAT(logging(silent, "--fault no-steps").failure(),
             Contains("server.steps: ") && Contains("does not begin as kvsweep.vllm"));
  CHECK_THAT(logging(old, "--fault old-steps").failure(), Contains("reads version 3"));
}
