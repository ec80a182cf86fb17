#include <algorithm>
#include <cmath>
#include <iostream>

#include "analysis/text/escape.hpp"
#include "analysis/text/list.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/search/commands.hpp"
#include "driver/search/race.hpp"
#include "driver/search/rounds.hpp"
#include "driver/search/tune_folder.hpp"

namespace driver {
namespace {

using analysis::terminal_text;

std::string policy_of(const sweep::CellRecord& cell) {
  const sweep::Value* policy = sweep::value_on(cell.axes, "policy");
  return policy == nullptr ? "" : sweep::bare_text(*policy);
}

/// The cell's values on the axes other than the policy.
std::string point_of(const sweep::CellRecord& cell) {
  sweep::AxisValues axes = cell.axes;
  std::erase_if(axes, [](const auto& axis) { return axis.first == "policy"; });
  return sweep::to_text(axes);
}

std::vector<std::string> policies_in(std::span<const Entrant> entrants) {
  std::vector<std::string> names;
  for (const Entrant& each : entrants)
    if (each.is_in()) names.push_back(each.policy);
  return names;
}

std::string settings_of(const sweep::ParamMap& values) {
  return sweep::joined(analysis::mapped(values, [](const auto& setting) {
    return setting.first + " = " + sweep::to_text(setting.second.value);
  }));
}

/// The cells of these policies with repeats [first, last) of the sweep.
Asked cells_of(const Rounds& rounds, const std::vector<std::string>& policies, int first,
               int last) {
  Asked asked;
  std::vector<std::string> repeats;
  for (int repeat = first; repeat < last; ++repeat) repeats.push_back(std::to_string(repeat));
  asked.only = {"policy=" + sweep::joined(policies, ",") +
                ",repeat=" + sweep::joined(repeats, ",")};
  for (const sweep::CellRecord& cell : rounds.records())
    if (cell.repeat >= first && cell.repeat < last &&
        std::ranges::find(policies, policy_of(cell)) != policies.end())
      rounds.ask(cell, asked);
  return asked;
}

/// The sweep, its candidates, and the runs that judge them.
class Tuning {
 public:
  Tuning(const Options& options, const sweep::SweepSpec& spec)
      : spec_(spec),
        tune_(*spec.tune),
        candidates_(draw_candidates(tune_)),
        folder_(*options.output, spec),
        options_(options),
        runs_(options_, spec, folder_.sweep_file(), folder_.file("runs.log")),
        train_(options_, runs_, "tune", child_run("train.h5", {})),
        held_out_(options_, runs_, "tune", child_run("held-out.h5", tune_.held_out_set)) {
    options_.backend = runs_.backend();
    first_to_run(make_plan(spec.path, options_));  // what is wrong with the user's file
    options_.profiles = folder_.profiles();
    folder_.write_sweep(candidates_, options.profiles);
  }

  int run() {
    std::cout << candidates_.size() << " candidates for " << tune_.policy << std::endl;
    train_.plan(folder_.sweep_file());
    if (const int code = train_.search([&] { return race(); }); code != kOk)
      return train_.report_end("tune", code);
    end_race();
    const auto winner =
        std::ranges::find(candidates_, leader(entrants_, scores_), &Candidate::name);
    if (winner != candidates_.end()) return judge(*winner);
    std::cout << tune_.policy << " stays as it is: no candidate is better\n";
    return kOk;
  }

 private:
  ChildRun child_run(const char* archive, sweep::ParamMap set) const {
    set["repeat.n"] = {std::int64_t{tune_.train + tune_.held_out}, {}};
    return {folder_.file(archive), std::move(set)};
  }
  /// The metric of each policy and seed of some cells, as the geometric mean over the other axes;
  /// its inverse where more is better. Points that not all policies have do not count, and seeds
  /// without a result at some point are left out. Throws sweep::SpecError for a metric that no cell
  /// has, or a value that is not above 0.
  Scores scores(const Rounds& rounds, const Asked& asked, std::size_t policies) const {
    std::vector<analysis::ConfiguredCell> cells;
    for (const int cell : asked.cells) cells.emplace_back(rounds.at(cell));
    const std::string metric = [&] {
      try {
        return analysis::known_metric(cells, tune_.metric);
      } catch (const std::invalid_argument& error) {
        throw sweep::SpecError(sweep::to_text(tune_.where) + ": tune.metric: " + error.what());
      }
    }();
    std::map<std::string, std::set<std::string>> policies_at;
    for (const auto& cell : cells)
      policies_at[point_of(*cell.record)].insert(policy_of(*cell.record));
    std::erase_if(policies_at, [&](const auto& at) { return at.second.size() < policies; });
    std::map<std::pair<std::string, std::int64_t>, std::vector<double>> logs;
    for (const analysis::ConfiguredCell& cell : cells) {
      const double value = cell.figure(metric);
      if (std::isnan(value) || !policies_at.contains(point_of(*cell.record))) continue;
      if (value <= 0)
        throw sweep::SpecError(folder_.sweep_file() + ": tune.metric must be above 0, found " +
                               metric + " = " + analysis::exact_number(value) + " in cell " +
                               std::to_string(cell.record->index));
      logs[{policy_of(*cell.record), cell.record->seed}].push_back(std::log(value));
    }
    const bool more_is_better = analysis::direction_of(metric) == analysis::Direction::higher;
    Scores found;
    for (const auto& [at, values] : logs) {
      const double mean = std::exp(analysis::mean(values));
      if (values.size() == policies_at.size())
        found[at.first][at.second] = more_is_better ? 1 / mean : mean;
    }
    return found;
  }
  /// Takes the beaten out after a round, and prints what became of it once.
  void decide(const std::vector<std::string>& policies, const Asked& asked, int seeds) {
    for (auto& [policy, found] : scores(train_, asked, policies.size()))
      scores_[policy] = std::move(found);
    if (!scores_.contains(tune_.policy))
      throw sweep::SpecError(folder_.sweep_file() + ": " + tune_.policy + " has no " +
                             tune_.metric + " on all seeds: see " + runs_.log());
    drop_the_beaten(entrants_, scores_, seeds);
    if (seeds <= told_) return;
    told_ = seeds;
    std::cout << seeds << " seeds: " << policies.size() << " policies, "
              << policies_in(entrants_).size() << " left, " << leader(entrants_, scores_)
              << " leads" << std::endl;
    for (const Entrant& each : entrants_)
      if (each.why_out == kLacksResult && std::ranges::count(policies, each.policy) > 0)
        std::cout << each.policy << " is out: " << each.why_out << std::endl;
  }
  /// Rounds on more and more seeds, until one policy is left or the seeds are used up.
  Asked race() {
    train_.read();
    entrants_ = {Entrant{tune_.policy}};
    for (const Candidate& each : candidates_) entrants_.push_back({each.name});
    scores_.clear();
    Asked asked;
    for (int seeds = 0; seeds < tune_.train && policies_in(entrants_).size() > 1;) {
      seeds = analysis::seeds_of_next_round(seeds, tune_.train);
      const std::vector<std::string> policies = policies_in(entrants_);
      asked = cells_of(train_, policies, 0, seeds);
      asked.what =
          std::to_string(policies.size()) + " policies run on " + std::to_string(seeds) + " seeds";
      if (!asked.open.empty()) break;
      decide(policies, asked, seeds);
    }
    return asked;
  }
  /// Prints why the race is over, and keeps what became of each candidate.
  void end_race() {
    const std::size_t left = policies_in(entrants_).size();
    std::cout << "the race ends: "
              << (left > 1 ? "all seeds of tune.train are used" : "one policy is left")
              << std::endl;
    train_.exclude(folder_.file("train.h5"), [&](const sweep::CellRecord& cell) {
      const auto entrant = std::ranges::find(entrants_, policy_of(cell), &Entrant::policy);
      return entrant == entrants_.end() ? "" : entrant->why_out;
    });
    folder_.write_candidates(candidates_, entrants_, scores_);
    if (left > 1)
      std::cout << left - 1 << (left == 2 ? " other policy is" : " other policies are")
                << " not told from " << leader(entrants_, scores_) << " by these seeds: see "
                << terminal_text(folder_.file("candidates.csv")) << '\n';
  }
  /// "jct_wall_mean_s is 0.848 (0.845 to 0.852) of the untuned continuum's on 20 held-out seeds",
  /// and what was different there.
  std::string gain_of(analysis::Ratio ratio) const {
    if (analysis::direction_of(tune_.metric) == analysis::Direction::higher) {
      ratio.value = 1 / ratio.value;
      ratio.interval = {1 / ratio.interval.high, 1 / ratio.interval.low};
    }
    const std::string changed = settings_of(tune_.held_out_set);
    return tune_.metric + " is " + to_text(ratio) + " of the untuned " + tune_.policy + "'s on " +
           std::to_string(ratio.repeats) + " held-out seeds" +
           (changed.empty() ? "" : " with " + changed);
  }
  /// The leader against the untuned policy, on seeds that had no part in its choice. It is written
  /// only if it is better there.
  int judge(const Candidate& winner) {
    held_out_.plan(folder_.sweep_file());
    first_to_run(held_out_.plan());
    const int code = held_out_.search([&] {
      held_out_.read();
      return cells_of(held_out_, {tune_.policy, winner.name}, tune_.train,
                      tune_.train + tune_.held_out);
    });
    if (code != kOk) return train_.report_end("tune", code);  // whose files stay
    const Scores found = scores(held_out_, held_out_.asked(), 2);
    if (found.size() < 2)
      throw sweep::SpecError(folder_.sweep_file() + ": no held-out cell has a result");
    const analysis::Ratio ratio =
        analysis::ratio_of(found.at(winner.name), found.at(tune_.policy));  // less is better
    const std::string gain = gain_of(ratio);
    std::cout << winner.name << " leads with " << settings_of(winner.values) << ":\n  " << gain
              << "\n  ";
    if (ratio.interval.high < 1)
      std::cout << terminal_text(folder_.write_winner(
                       winner, "Tuned by kvsweep tune (" + spec_.name + "): " + gain + "."))
                << '\n';
    else
      std::cout << (ratio.interval.low > 1 ? "worse" : "no gain shown")
                << " on held-out seeds: " << tune_.policy << " stays as it is\n";
    return kOk;
  }

  const sweep::SweepSpec& spec_;
  const sweep::TuneSpec& tune_;
  std::vector<Candidate> candidates_;
  TuneFolder folder_;
  Options options_;  // of the runs
  ChildRuns runs_;
  Rounds train_, held_out_;
  std::vector<Entrant> entrants_;  // the untuned policy, then the candidates
  Scores scores_;
  int told_ = 0;  // seeds of the last round of which the outcome is printed
};

/// Keys of policies that stand outside the policy's file would count for all candidates, too. All
/// may have one plugin.
void refuse_policy_keys(const sweep::SweepSpec& spec, const Options& options) {
  const auto refuse = [](const std::string& key, const std::string& where) {
    if (key.starts_with("policy.") && !key.starts_with("policy.plugin="))
      throw sweep::SpecError(where + ": " + key + " would change every candidate: tune a policy " +
                             "whose file has it");
  };
  for (const auto& [key, param] : spec.base) refuse(key, sweep::to_text(param.where));
  for (const sweep::Axis& axis : spec.axes) refuse(axis.name, sweep::to_text(axis.where));
  for (const std::string& each : options.set) refuse(each, "--set");
}

/// Throws sweep::SpecError for a sweep that cannot be tuned.
void check(const sweep::SweepSpec& spec, const Options& options) {
  if (!spec.tune)
    throw sweep::SpecError(spec.path + ": the table [tune] is missing: which keys to vary");
  const std::string where = sweep::to_text(spec.tune->where);
  const sweep::Axis* policies = spec.find_axis("policy");
  const auto is_tuned = [&](const sweep::Param& each) {
    return sweep::same_value(each.value, spec.tune->policy);
  };
  if (policies == nullptr || std::ranges::none_of(policies->values, is_tuned))
    throw sweep::SpecError(where + ": the policy to tune, \"" + spec.tune->policy +
                           "\", is not on the axis \"policy\"");
  if (analysis::direction_of(spec.tune->metric) == analysis::Direction::neither)
    throw sweep::SpecError(where + ": tune.metric must be a figure of which less or more is " +
                           "better, found \"" + spec.tune->metric + '"');
  refuse_policy_keys(spec, options);
}

}  // namespace

int tune(const Options& options) {
  check_search(options, "tune");
  if (!options.output) throw UsageError("tune needs -o DIR, the folder for its runs");
  const sweep::SweepSpec spec = sweep::load_spec(options.arguments.front());
  check(spec, options);
  return Tuning(options, spec).run();
}

}  // namespace driver
