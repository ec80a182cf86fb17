// What the simulator says of cells in which a server was measured, beside what it did.
#include <algorithm>
#include <deque>
#include <iostream>

#include "analysis/compare/prediction.hpp"
#include "analysis/text/escape.hpp"
#include "driver/bound/restored.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/twin/twin.hpp"

namespace driver {
namespace {

using analysis::ConfiguredCell;
using analysis::shown;

/// "vllm 0.26": the name of the server's constants in the profile of the card.
std::string name_of_constants(const ConfiguredCell& cell) {
  const std::string version = shown(cell.value("server.version"));
  const std::size_t patch = version.find('.', version.find('.') + 1);
  return shown(cell.value("server.kind")) + ' ' + version.substr(0, patch);
}

/// vLLM schedules asynchronously where it is not told otherwise.
std::string scheduling(const ConfiguredCell& cell) {
  const bool is_sync =
      shown(cell.value("server.command")).find("--no-async-scheduling") != std::string::npos;
  return is_sync ? "false" : "true";
}

/// The policy that stands for the cell's profile in its sweep.
std::string stand_in(const ConfiguredCell& cell, const sweep::SweepSpec& spec) {
  const std::string profile = shown(cell.value("server.profile"));
  const auto found = spec.base.find("server.profile." + profile + ".sim");
  if (found == spec.base.end())
    throw NotRestored("profile " + profile + " names no policy that stands for it (sim)");
  return sweep::bare_text(found->second.value);
}

/// Makes the hits those of both tiers, as a server counts them that does not tell them apart.
void join_hits(std::vector<sweep::Figure>& figures) {
  const auto host = std::ranges::find(figures, "host_hit_rate", &sweep::Figure::name);
  const auto gpu = std::ranges::find(figures, "prefix_hit_rate", &sweep::Figure::name);
  if (host != figures.end() && gpu != figures.end() && host->value > 0) gpu->value += host->value;
}

/// The cell as the simulator says it, with the constants of the server's own steps.
sweep::CellRecord simulated(const ConfiguredCell& cell, const sweep::SweepSpec& spec,
                            const Options& options, worker::Profiles& profiles,
                            worker::WorkloadCache& workloads) {
  std::vector<std::string> set{"policy=" + stand_in(cell, spec), "sim.cost_model=measured",
                               "sim.server=" + name_of_constants(cell),
                               "engine.async_scheduling=" + scheduling(cell)};
  set.insert(set.end(), options.set.begin(), options.set.end());
  worker::RunHooks hooks;
  hooks.record = sweep::RecordLevel::summary;
  sweep::CellResult result =
      worker::run_experiment(restored(cell, set, profiles), workloads, hooks);
  sweep::CellRecord record = *cell.record;
  record.backend = "sim";
  record.figures = std::move(result.figures);
  if (!(cell.figure("host_hit_rate") >= 0)) join_hits(record.figures);
  return record;
}

}  // namespace

int judge_twin(const Options& options) {
  const sweep::ArchiveReader archive = open_archive(options.arguments.front());
  std::vector<ConfiguredCell> measured = selected_cells(archive.cells(), options);
  std::erase_if(measured, [](const ConfiguredCell& cell) {
    return cell.record->backend != "server" || cell.record->status != sweep::CellStatus::ok;
  });
  if (measured.empty())
    throw UsageError(options.arguments.front() + " has no result of backend server");
  const sweep::SweepSpec spec = sweep::parse_spec(archive.spec_text(), options.arguments.front());
  worker::Profiles profiles(options.profiles);
  worker::WorkloadCache workloads;
  std::deque<sweep::CellRecord> records;
  std::vector<ConfiguredCell> said;
  std::cout
      << "MEASURED (server, " << analysis::terminal_text(name_of_constants(measured.front()))
      << ") / MODELLED (sim, measured, by the constants of its steps in the card's profile)\n";
  for (const ConfiguredCell& cell : measured) {
    try {
      said.emplace_back(records.emplace_back(simulated(cell, spec, options, profiles, workloads)));
    } catch (const std::runtime_error& why) {
      std::cout << "not modelled: " << analysis::terminal_text(cell.record->label) << ": "
                << analysis::terminal_text(why.what()) << '\n';
    }
  }
  if (said.empty()) return kUsage;
  try {
    analysis::print_predictions(measured, said, options.metric, std::cout);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  return kOk;
}

}  // namespace driver
