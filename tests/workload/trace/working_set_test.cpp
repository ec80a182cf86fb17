#include "workers/workload/trace/working_set.hpp"

#include <sstream>

#include "tests/support/catch.hpp"

using namespace std::chrono_literals;
using workload::WorkingSet;

namespace {

/// A job with turns of these prompts, 10 s apart, and answers of 100 tokens.
workload::Job job(const std::vector<int>& prompts) {
  workload::Job made;
  for (const int prompt : prompts) made.turns.push_back({prompt, 100, engine::ToolId::none, 10s});
  return made;
}

/// 10 ms a token: each answer takes 1 s.
std::vector<WorkingSet> sets_of(const workload::Workload& workload,
                                const std::vector<engine::Nanos>& arrivals, int most_live,
                                int parts) {
  return workload::working_set(workload, arrivals, most_live, 10ms, parts);
}

std::vector<double> tokens(const std::vector<WorkingSet>& sets) {
  std::vector<double> tokens;
  for (const WorkingSet& set : sets) tokens.push_back(set.tokens);
  return tokens;
}

}  // namespace

TEST_CASE("a job's KV is that of its latest turn, until its last turn ends", "[trace]") {
  workload::Workload workload;
  workload.jobs = {job({900, 1900})};
  const auto sets = sets_of(workload, {0s}, 0, 12);  // 1 s, 10 s, 1 s
  CHECK(tokens(sets) == std::vector<double>{1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000,
                                            1000, 1000, 2000});
  CHECK(sets[11].from_s == Approx(11));
  CHECK(sets[11].programs == 1);
}

TEST_CASE("the next job begins when one of those in progress ends", "[trace]") {
  workload::Workload workload;
  workload.jobs = {job({900}), job({1900}), job({2900})};
  CHECK(tokens(sets_of(workload, {0s, 0s, 0s}, 1, 3)) == std::vector<double>{1000, 2000, 3000});
  CHECK(tokens(sets_of(workload, {0s, 0s, 0s}, 2, 2)) == std::vector<double>{3000, 3000});
  CHECK(tokens(sets_of(workload, {0s, 0s, 0s}, 0, 1)) == std::vector<double>{6000});
  CHECK(tokens(sets_of(workload, {0s, 5s, 0s}, 1, 7)).at(3) == 0);
}

TEST_CASE("subagents add to the KV of their parent while they run", "[trace]") {
  workload::Workload workload;
  workload.jobs = {job({900, 1900}), job({400})};
  workload.num_programs = 1;
  workload.agents.resize(2);
  workload.agents[0].numbers = {0, 2};
  workload.agents[0].waits = {{1, 1, 0}};
  workload.agents[1].agent = 1;
  workload.agents[1].numbers = {1};
  workload.agents[1].waits = {{0, 0, 0}};
  workload.agents[1].lead = 2s;
  // The root's second turn waits 10 s for its tool once the subagent has ended.
  const auto sets = sets_of(workload, {0s}, 0, 15);
  CHECK(tokens(sets) == std::vector<double>{1000, 1000, 1000, 1500, 1000, 1000, 1000, 1000, 1000,
                                            1000, 1000, 1000, 1000, 1000, 2000});
  for (const WorkingSet& set : sets) CHECK(set.programs == 1);
}

TEST_CASE("each pool is compared with the tokens at each time", "[trace]") {
  std::ostringstream out;
  workload::print(out, {{0, 1, 500}, {10, 2, 1000}}, {{"small", 250}, {"large", 4000}});
  CHECK_THAT(out.str(), Catch::Matchers::Contains("2.00x") && Catch::Matchers::Contains("0.25x"));
}
