#include "analysis/compare/answer.hpp"

#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"

using analysis::Contender;
using analysis::Direction;
using analysis::Place;
using analysis::Regime;

namespace {

const Place kH100{"MODELLED (sim)", "h100-80gb", ""};

/// The regimes of fcfs and continuum at some rates, from the values of one seed each.
std::vector<Regime> regimes(const std::map<std::string, std::pair<double, double>>& by_rate) {
  std::vector<Regime> all;
  for (const auto& [jps, values] : by_rate) {
    const std::vector<Contender> two = {{"fcfs", "-", {{42, values.first}}},
                                        {"continuum", "-", {{42, values.second}}}};
    for (const Regime& each : regimes_of(kH100, jps, two, Direction::lower)) all.push_back(each);
  }
  return all;
}

/// What is said of the mechanism of one cell.
std::vector<std::string> idle(const Settings& settings, const std::vector<sweep::Figure>& figures) {
  ArchivedCells archive;
  archive.add(settings, 1).figures = figures;
  const auto cells = archive.cells();
  const std::vector<analysis::PolicyCells> policies = {{kH100, "3", "this", {&cells.front()}}};
  return idle_mechanisms(policies);
}

}  // namespace

TEST_CASE("rates with the same outcome share a sentence") {
  CHECK(answer_lines(regimes({{"1", {41, 41}}, {"3", {222, 55.5}}, {"6", {243, 60.75}}})) ==
        std::vector<std::string>{"h100-80gb: at 1 job/s continuum and fcfs tie; at 3 and 6 jobs/s "
                                 "continuum is best (fcfs, the next, takes 4.00 and 4.00 times as "
                                 "long)"});
}

TEST_CASE("each size of host memory has a line of its own") {
  const std::vector<Contender> row = {{"fcfs", "-", {{42, 50}}},
                                      {"lmcache-16G", "16", {{42, 60}}},
                                      {"lmcache-128G", "128", {{42, 40}}}};
  CHECK(answer_lines(regimes_of(kH100, "3", row, Direction::lower)) ==
        std::vector<std::string>{
            "h100-80gb with 16 GiB: at 3 jobs/s fcfs is best (lmcache-16G, the next, takes 1.20 "
            "times as long)",
            "h100-80gb with 128 GiB: at 3 jobs/s lmcache-128G is best (fcfs, the next, takes 1.25 "
            "times as long)"});
}

TEST_CASE("the heading says of which kind the figures are and whether there are intervals") {
  CHECK(answer_heading(regimes({{"1", {41, 82}}})) ==
        "By mean job completion time; MODELLED (sim); 1 seed, no intervals below three");
  CHECK(analysis::answer_heading({}).empty());
}

TEST_CASE("a policy that pins nothing, or finds nothing in host memory, is named") {
  CHECK(idle({{"policy", text("continuum")}, {"policy.retention", text("pin")}},
             {{"gap_held_tok_s", 0, "tok s"}}) ==
        std::vector<std::string>{"h100-80gb: this pins no KV at 3 jobs/s"});
  CHECK(idle({{"policy", text("continuum")}, {"policy.retention", text("pin")}},
             {{"gap_held_tok_s", 5, "tok s"}})
            .empty());
  CHECK(
      idle({{"policy", text("lmcache")}, {"dram_gib", whole(16)}}, {{"host_hit_tok", 0, "tok"}}) ==
      std::vector<std::string>{"h100-80gb: this finds nothing in host memory at 3 jobs/s"});
  CHECK(idle({{"policy", text("fcfs")}, {"policy.retention", text("free")}},
             {{"gap_held_tok_s", 0, "tok s"}})
            .empty());
}

TEST_CASE("policies with equal results are named as twins") {
  ArchivedCells archive;
  for (const char* policy : {"fcfs", "continuum", "job_fcfs"})
    archive.add({{"policy", text(policy)}}, policy == std::string("job_fcfs") ? 2 : 1);
  const auto cells = archive.cells();
  std::vector<analysis::PolicyCells> policies;
  for (const auto& cell : cells)
    policies.push_back({kH100, "1", analysis::shown(cell.value("policy")), {&cell}});
  CHECK(idle_mechanisms(policies) ==
        std::vector<std::string>{"h100-80gb: continuum and fcfs have equal results at 1 job/s"});
}
