#include <algorithm>
#include <filesystem>
#include <iostream>

#include "analysis/ranking/answer.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/list.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/run/setup.hpp"
#include "driver/search/commands.hpp"
#include "driver/search/rounds.hpp"

namespace driver {
namespace {

using analysis::Contender;
using analysis::Decision;
using analysis::PolicyCells;
using analysis::Standing;

/// The contenders that the repeats do not tell from the best, with that one.
std::vector<bool> undecided_of(const std::vector<Contender>& contenders) {
  std::vector<bool> undecided(contenders.size());
  for (const Decision& each :
       analysis::decide(contenders, analysis::direction_of(analysis::kAnswerFigure))) {
    const auto is_open = [&](std::size_t i) { return each.standings[i] == Standing::undecided; };
    for (std::size_t i = 0; i < contenders.size(); ++i)
      if (is_open(i)) undecided[i] = undecided[each.best] = true;
  }
  return undecided;
}

/// Asks for three repeats of each policy, and then for more of those of which none is surely the
/// best.
void ask(const analysis::RateRow& row, const Rounds& rounds, int most, Asked& asked) {
  std::vector<const PolicyCells*> policies;
  for (const PolicyCells& each : row.policies) policies.push_back(&each);
  ++asked.of;
  for (int seeds = 0; seeds < most;) {
    seeds = analysis::seeds_of_next_round(seeds, most);
    std::vector<Contender> contenders;
    bool is_open = false;
    for (const PolicyCells* policy : policies) {
      std::vector<const analysis::ConfiguredCell*> repeats = policy->repeats;
      std::erase_if(repeats, [&](const auto* cell) { return cell->record->repeat >= seeds; });
      contenders.push_back(
          {policy->variant, policy->dram, analysis::by_seed(repeats, analysis::kAnswerFigure)});
      for (const analysis::ConfiguredCell* cell : repeats)
        is_open = rounds.ask(*cell->record, asked) || is_open;
    }
    if (is_open) return;
    const std::vector<bool> undecided = undecided_of(contenders);
    std::size_t i = 0;
    std::erase_if(policies, [&](const PolicyCells*) { return !undecided[i++]; });
    if (policies.empty()) {
      ++asked.decided;
      return;
    }
  }
}

/// The cells that can run, with what is known of them.
std::vector<analysis::ConfiguredCell> cells_of(const Rounds& rounds) {
  std::vector<analysis::ConfiguredCell> cells;
  for (const PlannedCell& planned : rounds.plan().cells)
    if (planned.runs()) cells.emplace_back(rounds.at(planned.cell.index));
  return cells;
}

Asked judge(Rounds& rounds) {
  rounds.read();
  const std::vector<analysis::ConfiguredCell> cells = cells_of(rounds);
  const auto pointers = analysis::mapped(cells, [](const auto& each) { return &each; });
  Asked asked;
  asked.what = "winners";
  for (const analysis::RateRow& row : analysis::arrange(pointers))
    ask(row, rounds, static_cast<int>(rounds.plan().spec.repeat.n), asked);
  return asked;
}

void check(const Options& options, const sweep::SweepSpec& spec) {
  check_search(options, "run --until-decided");
  if (!options.only.empty() || !options.skip.empty() || options.cell || options.resume ||
      options.fresh || options.time_limit_s || options.cell_timeout_s || options.as_sku ||
      options.fake_device || options.retry_quarantined)
    throw UsageError(
        "--until-decided chooses the cells itself and goes on where it was stopped: leave out "
        "--only, --skip, --cell, --resume, --fresh, --time-limit, --cell-timeout, "
        "--as-sku, --fake-device and --retry-quarantined");
  if (spec.repeat.n <= static_cast<std::int64_t>(analysis::kFewestRepeats))
    throw sweep::SpecError(spec.path +
                           ": --until-decided spends repeats beyond the third where "
                           "the winner is undecided: [repeat] n must be 4 or more, found " +
                           std::to_string(spec.repeat.n));
  constexpr const char* kLive = "workload.live";
  if (spec.base.contains(kLive) || spec.find_axis(kLive) != nullptr)
    throw sweep::SpecError(spec.path +
                           ": --until-decided compares repeats, and live agents are the same in "
                           "each, since they do not depend on its seed");
}

/// A run of the search: what the command line says of it.
ChildRun child_run(const Options& options, const std::string& archive) {
  ChildRun run{archive};
  std::vector<std::string>& more = run.more;
  if (options.workers) more.insert(more.end(), {"--workers", std::to_string(*options.workers)});
  if (options.record)
    more.insert(more.end(), {"--record", std::string(sweep::to_text(*options.record))});
  if (options.node_memory_gib)
    more.insert(more.end(), {"--node-memory-gib", std::to_string(*options.node_memory_gib)});
  return run;
}

}  // namespace

int run_until_decided(const Options& options) {
  const sweep::SweepSpec spec = sweep::load_spec(options.arguments.front());
  const std::string archive = archive_path(options, spec.name);
  const ChildRuns runs(options, spec, spec.path,
                       std::filesystem::path(archive).replace_extension(".rounds.log").string());
  Rounds rounds(options, runs, "run --until-decided", child_run(options, archive));
  rounds.plan(spec.path);
  check(options, rounds.plan().spec);
  const int code = rounds.search([&] { return judge(rounds); });
  if (code == kOk) rounds.finish();
  const std::vector<analysis::ConfiguredCell> cells = cells_of(rounds);
  if (code == kOk || rounds.is_out_of_budget())
    analysis::print_answer_lines(analysis::arrange(analysis::with_results(cells)),
                                 analysis::kAnswerFigure, std::cout);
  if (code != kOk) return rounds.report_end("the search", code);
  const Asked& asked = rounds.asked();
  std::cout << asked.decided << " of " << asked.of << " winners are decided, by "
            << asked.cells.size() << " of " << rounds.plan().cells.size()
            << " cells\nResults: " << analysis::terminal_text(archive) << std::endl;
  const bool failed = std::ranges::any_of(
      asked.cells, [&](int cell) { return rounds.at(cell).status != sweep::CellStatus::ok; });
  return failed ? kSomeCellsFailed : kOk;
}

}  // namespace driver
