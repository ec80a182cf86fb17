#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "analysis/trace/trace.hpp"
#include "sweeps/definition/cell.hpp"
#include "tests/support/catch.hpp"
#include "workers/binding/binding.hpp"
#include "workers/cell/experiment.hpp"

using nlohmann::json;

namespace {

/// Twenty agents at once on a pool that holds two contexts.
sweep::CellResult crowded_cell(const std::string& policy) {
  const auto spec = sweep::parse_spec(
      "schema = 1\n"
      "gpu = 'h100-80gb'\njps = 10\n"
      "policy = '" +
          policy +
          "'\n"
          "[sweep]\nname = 'crowded'\nbackend = 'sim'\n"
          "[engine]\nkv_tokens = 33000\nmax_num_batched_tokens = 2048\n"
          "reserve_full_sequence = false\n"
          "[workload]\nkind = 'swe_smith_like'\njobs = 20\ngap_s = 1.0\n",
      "crowded.toml");
  const auto cells = sweep::expand(spec, {});
  worker::Profiles profiles("sweeps");
  const auto bound = worker::bind(cells.at(0).params, "sim", cells[0].seed, profiles);
  worker::WorkloadCache workloads;
  return worker::run_experiment(bound.config, workloads);
}

std::vector<json> step_lines(const sweep::CellResult& cell) {
  std::stringstream text;
  analysis::write_steps(cell, text);
  std::vector<json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

/// Places in the running list of the requests that the decision schedules.
std::vector<std::ptrdiff_t> places(const json& snapshot, const json& decision) {
  const json& running = snapshot.at("running_req_ids");
  std::vector<std::ptrdiff_t> found;
  for (const char* kind :
       {"scheduled_running_req_ids", "scheduled_resumed_req_ids", "scheduled_new_req_ids"}) {
    for (const json& request : decision.at(kind)) {
      found.push_back(std::find(running.begin(), running.end(), request) - running.begin());
    }
  }
  return found;
}

}  // namespace

TEST_CASE("what the engine recorded replays to its own counts of running, waiting and pinned") {
  const std::string policy = GENERATE("fcfs", "job_fcfs", "continuum");
  INFO(policy);
  const sweep::CellResult cell = crowded_cell(policy);
  const auto& preempted = cell.steps.values<std::int32_t>("n_preempted");
  REQUIRE(std::accumulate(preempted.begin(), preempted.end(), 0) > 0);

  const auto lines = step_lines(cell);
  std::size_t lookups = 0;
  const json* snapshot = nullptr;
  bool in_order = true;
  for (const json& line : lines) {
    if (line.at("event") == "prefix_cache_lookup") ++lookups;
    if (line.at("event") == "step_snapshot") snapshot = &line;
    if (line.at("event") != "step_decision") continue;
    const auto at = places(*snapshot, line);
    const auto running = static_cast<std::ptrdiff_t>(snapshot->at("running_req_ids").size());
    const auto first_resumed = line.at("scheduled_running_req_ids").size();
    in_order = in_order && std::all_of(at.begin(), at.end(), [&](auto p) { return p < running; }) &&
               std::is_sorted(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(first_resumed));
  }
  CHECK(in_order);
  CHECK(lookups == cell.turns.rows());
  CHECK(lines.size() == 2 * cell.steps.rows() + lookups);
}
