#include <algorithm>
#include <array>
#include <deque>
#include <iostream>
#include <sstream>

#include "analysis/compare/compare.hpp"
#include "analysis/digest/fits.hpp"
#include "analysis/text/escape.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/restored.hpp"

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
bool is_async(const ConfiguredCell& cell) {
  return shown(cell.value("server.command")).find("--no-async-scheduling") == std::string::npos;
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

/// How the cell is simulated beside its own keys: with what was measured of its card, and for one
/// of a server with the policy and the constants that stand for it.
std::vector<std::string> as_simulated(const ConfiguredCell& cell, const sweep::SweepSpec& spec) {
  if (cell.record->backend != "server") return {"sim.cost_model=measured"};
  std::vector<std::string> set = {
      "policy=" + stand_in(cell, spec), "sim.cost_model=measured",
      "sim.server=" + name_of_constants(cell),
      std::string("engine.async_scheduling=") + (is_async(cell) ? "true" : "false")};
  if (const auto values = cell.value(analysis::kServerPolicyValues)) {
    std::istringstream words(shown(values));
    for (std::string word; words >> word;) set.push_back("policy." + word);
  }
  return set;
}

/// The constants of steps of servers that were fitted to cells, asynchronous and not.
class FittedSteps {
 public:
  void add(sweep::ArchiveReader& archive, const ConfiguredCell& cell) {
    require_table(*cell.record, "steps");
    if (!has_logged_steps(*cell.record))
      throw UsageError("--fit: the server of " + cell.record->label +
                       " did not log its steps (server.steps = true)");
    const int row = cell.record->index;
    const bool async = is_async(cell);
    fits_[async].add(archive.load_table(row, "steps"), archive.load_table(row, "sched"),
                     async ? analysis::StepFit::kAsyncSpan : 1);
  }

  /// Puts those of servers that schedule like the cell's into the profile of its card; what steps
  /// do not tell stays as it is there. Throws NotRestored where none was fitted.
  void put_in(worker::Profiles& profiles, const ConfiguredCell& cell) const {
    const bool async = is_async(cell);
    const auto plane = fits_[async].plane(analysis::StepFit::count);
    if (!plane)
      throw NotRestored(std::string("no fitted cell schedules ") +
                        (async ? "asynchronously" : "synchronously"));
    const std::string gpu = shown(cell.value("gpu")), server = name_of_constants(cell),
                      name = server + (async ? ".async" : ".sync");
    const auto& known = profiles.gpu(gpu).servers;
    backends::MeasuredFit fit = known.contains(name) ? known.at(name) : backends::MeasuredFit{};
    fit.model = shown(cell.value("model"));
    fit.server = server;
    fit.base_ms = plane->intercept * 1e3;
    fit.token_us = plane->slopes[analysis::StepFit::tokens] * 1e6;
    fit.kv_token_ns = plane->slopes[analysis::StepFit::kv_tokens] * 1e9;
    fit.pair_ps = plane->slopes[analysis::StepFit::pairs] * 1e12;
    profiles.set_server(gpu, name, fit);
  }

  void print(std::ostream& out) const {
    for (const bool async : {true, false})
      if (const auto plane = fits_[async].plane(analysis::StepFit::count))
        out << (async ? "asynchronous" : "synchronous") << ", " << fits_[async].steps()
            << " steps: " << analysis::step_formula(*plane) << '\n';
  }

 private:
  std::array<analysis::StepFit, 2> fits_;  // by whether steps are asynchronous
};

struct Simulator {
  const sweep::SweepSpec& spec;
  const Options& options;
  worker::Profiles profiles;
  worker::WorkloadCache workloads{};

  /// The cell as the simulator says it, by `fitted` or, where it is null, by the card's profile.
  sweep::CellRecord run(const ConfiguredCell& cell, const FittedSteps* fitted) {
    if (fitted != nullptr) fitted->put_in(profiles, cell);
    std::vector<std::string> set = as_simulated(cell, spec);
    set.insert(set.end(), options.set.begin(), options.set.end());
    worker::RunHooks hooks;
    hooks.record = sweep::RecordLevel::summary;
    sweep::CellRecord record = *cell.record;
    record.backend = "sim";
    record.figures =
        worker::run_experiment(restored(cell, set, profiles), workloads, hooks).figures;
    if (cell.record->backend == "server" && !(cell.figure("host_hit_rate") >= 0))
      join_hits(record.figures);
    return record;
  }
};

std::vector<ConfiguredCell> measured_cells(const sweep::ArchiveReader& archive,
                                           const Options& options, const CellChoice& choice) {
  std::vector<ConfiguredCell> found = finished_cells(archive.cells(), choice);
  std::erase_if(found, [](const auto& cell) { return cell.record->backend == "sim"; });
  if (found.empty()) throw UsageError(options.arguments.front() + " has no measured result");
  return found;
}

/// Fits the cells that --fit names, and takes them out of `measured`.
std::optional<FittedSteps> fitted_apart(sweep::ArchiveReader& archive, const Options& options,
                                        std::vector<ConfiguredCell>& measured) {
  if (options.fit.empty()) return std::nullopt;
  FittedSteps fitted;
  const std::vector<ConfiguredCell> cells =
      measured_cells(archive, options, {.only = options.fit, .skip = options.skip});
  for (const ConfiguredCell& cell : cells) fitted.add(archive, cell);
  std::cout << "fitted to " << cells.size()
            << (cells.size() == 1 ? " cell, which is" : " cells, which are") << " not judged:\n";
  for (const ConfiguredCell& cell : cells)
    std::cout << "  " << analysis::terminal_text(cell.record->label) << '\n';
  fitted.print(std::cout);
  std::erase_if(measured, [&](const ConfiguredCell& each) {
    return std::ranges::any_of(
        cells, [&](const ConfiguredCell& cell) { return cell.record == each.record; });
  });
  if (measured.empty()) throw UsageError("--fit leaves no cell to judge");
  return fitted;
}

}  // namespace

int twin(const Options& options) {
  sweep::ArchiveReader archive = open_archive(options.arguments.front());
  std::vector<ConfiguredCell> measured = measured_cells(archive, options, options);
  const sweep::SweepSpec spec = sweep::parse_spec(archive.spec_text(), options.arguments.front());
  const std::optional<FittedSteps> fitted = fitted_apart(archive, options, measured);
  Simulator simulator{spec, options, worker::Profiles(options.profiles)};
  std::deque<sweep::CellRecord> records;
  std::vector<ConfiguredCell> said;
  std::cout << analysis::terminal_text(analysis::figures_kind(measured.front()))
            << " / MODELLED (sim, measured, by the constants "
            << (fitted ? "of the fitted cells" : "in the card's profile") << ")\n";
  for (const ConfiguredCell& cell : measured) {
    try {
      said.emplace_back(records.emplace_back(simulator.run(cell, fitted ? &*fitted : nullptr)));
    } catch (const std::runtime_error& why) {
      std::cout << "not modelled: " << analysis::terminal_text(cell.record->label) << ": "
                << analysis::terminal_text(why.what()) << '\n';
    }
  }
  if (said.empty()) return kUsage;
  analysis::print_predictions(measured, said, options.metric, std::cout);
  return kOk;
}

}  // namespace driver
