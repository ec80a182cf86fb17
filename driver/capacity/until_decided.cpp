#include "driver/capacity/until_decided.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "analysis/ranking/answer.hpp"
#include "analysis/text/escape.hpp"
#include "driver/capacity/rounds.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/run/setup.hpp"

namespace driver {
namespace {

using analysis::Contender;
using analysis::Decision;
using analysis::PolicyCells;
using analysis::Standing;

/// What the results ask for.
struct Asked {
  std::set<int> cells, open;  // open: without a result
  int decided = 0, rows = 0;  // places and rates at which policies compete
};

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
/// best. `index_of` a cell in the plan.
void ask(const analysis::RateRow& row, const Rounds& rounds, int most, auto index_of,
         Asked& asked) {
  std::vector<const PolicyCells*> policies;
  for (const PolicyCells& each : row.policies) policies.push_back(&each);
  ++asked.rows;
  for (int seeds = 0; seeds < most;) {
    seeds = analysis::seeds_of_next_round(seeds, most);
    std::vector<Contender> contenders;
    bool is_open = false;
    for (const PolicyCells* policy : policies) {
      std::vector<const analysis::ConfiguredCell*> repeats = policy->repeats;
      std::erase_if(repeats, [&](const auto* cell) { return cell->record->repeat >= seeds; });
      contenders.push_back(
          {policy->variant, policy->dram, analysis::by_seed(repeats, analysis::kAnswerFigure)});
      for (const analysis::ConfiguredCell* cell : repeats) {
        const int index = index_of(*cell);
        asked.cells.insert(index);
        if (!rounds.is_open(index)) continue;
        asked.open.insert(index);
        is_open = true;
      }
    }
    if (is_open) return;
    const std::vector<bool> undecided = undecided_of(contenders);
    std::vector<const PolicyCells*> left;
    for (std::size_t i = 0; i < policies.size(); ++i)
      if (undecided[i]) left.push_back(policies[i]);
    policies = std::move(left);
    if (policies.empty()) {
      ++asked.decided;
      return;
    }
  }
}

/// Prints the answer of all results. Returns what is asked for.
Asked judge(Rounds& rounds, int most, bool prints) {
  rounds.read();
  std::vector<analysis::ConfiguredCell> cells;
  for (std::size_t i = 0; i < rounds.records().size(); ++i)
    if (rounds.plan().cells[i].runs()) cells.emplace_back(rounds.records()[i]);
  std::vector<const analysis::ConfiguredCell*> pointers;
  for (const analysis::ConfiguredCell& each : cells) pointers.push_back(&each);
  Asked asked;
  const auto index_of = [&](const analysis::ConfiguredCell& cell) {
    return static_cast<int>(cell.record - rounds.records().data());
  };
  for (const analysis::RateRow& row : analysis::arrange(pointers))
    ask(row, rounds, most, index_of, asked);
  if (prints)
    analysis::print_answer_lines(analysis::arrange(analysis::with_results(cells)),
                                 analysis::kAnswerFigure, std::cout);
  return asked;
}

std::string stand_of(const Asked& asked) {
  return std::to_string(asked.decided) + " of " + std::to_string(asked.rows) +
         " winners decided, " + std::to_string(asked.cells.size()) + " cells asked for";
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
}

}  // namespace

int run_until_decided(const Options& options) {
  sweep::SweepSpec spec = sweep::load_spec(options.arguments.front());
  const std::string archive = archive_path(options, spec.name);
  const std::string log = std::filesystem::path(archive).replace_extension(".rounds.log").string();
  std::vector<std::string> more;
  if (options.workers) more.insert(more.end(), {"--workers", std::to_string(*options.workers)});
  if (options.record)
    more.insert(more.end(), {"--record", std::string(sweep::to_text(*options.record))});
  if (options.node_memory_gib)
    more.insert(more.end(), {"--node-memory-gib", std::to_string(*options.node_memory_gib)});
  const ChildRuns runs(options, spec, spec.path, options.profiles.string(), log);
  Rounds rounds(options, runs, archive, "run --until-decided", std::move(more));
  rounds.plan(spec.path);
  check(options, rounds.plan().spec);
  const int most = static_cast<int>(rounds.plan().spec.repeat.n);
  Asked asked = judge(rounds, most, false);
  for (; !asked.open.empty(); asked = judge(rounds, most, false)) {
    if (options.budget && asked.cells.size() > static_cast<std::size_t>(*options.budget)) {
      judge(rounds, most, true);
      std::cerr << "kvsweep: the budget of " << *options.budget << " cells leaves "
                << asked.rows - asked.decided << " of " << asked.rows
                << " winners undecided: the next round needs " << asked.cells.size()
                << "; the same command with a larger --budget continues\n";
      return kIncomplete;
    }
    const int code = rounds.run(asked.open, stand_of(asked));
    if (code == kOk) continue;
    std::cerr << "kvsweep: the search ends, since " << why_search_ends(code, log) << '\n';
    return code;
  }
  rounds.finish(asked.cells);
  judge(rounds, most, true);
  std::cout << asked.decided << " of " << asked.rows << " winners are decided, by "
            << asked.cells.size() << " of " << rounds.plan().cells.size()
            << " cells\nResults: " << analysis::terminal_text(archive) << std::endl;
  const bool failed = std::ranges::any_of(asked.cells, [&](int cell) {
    return rounds.records()[static_cast<std::size_t>(cell)].status != sweep::CellStatus::ok;
  });
  return failed ? kSomeCellsFailed : kOk;
}

}  // namespace driver
