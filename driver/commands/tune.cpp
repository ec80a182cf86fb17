#include <algorithm>
#include <iostream>

#include "analysis/text/escape.hpp"
#include "driver/commands/commands.hpp"
#include "driver/tune/race.hpp"
#include "driver/tune/runs.hpp"

namespace driver {
namespace {

constexpr char kTrain[] = "train.h5", kHeldOut[] = "held-out.h5";

/// The sweep, its candidates and the folder that they are run in.
struct Tuning {
  sweep::SweepSpec spec;
  const sweep::TuneSpec& tune;
  std::vector<Candidate> candidates;
  TuneRuns runs;
  std::vector<Entrant> entrants;  // the untuned policy, then the candidates
  Scores scores{};

  Tuning(const Options& options, sweep::SweepSpec read)
      : spec(std::move(read)),
        tune(*spec.tune),
        candidates(draw_candidates(tune)),
        runs(options, spec, candidates) {
    entrants.push_back({tune.policy});
    for (const Candidate& each : candidates) entrants.push_back({each.name});
  }
};

std::vector<std::string> policies_in(std::span<const Entrant> entrants) {
  std::vector<std::string> names;
  for (const Entrant& each : entrants)
    if (each.is_in()) names.push_back(each.policy);
  return names;
}

/// Throws sweep::SpecError when nothing can be compared with.
void require_scores(const Tuning& tuning) {
  if (!tuning.scores.contains(tuning.tune.policy))
    throw sweep::SpecError(tuning.runs.sweep_file() + ": " + tuning.tune.policy + " has no " +
                           tuning.tune.metric + " on all seeds: see " +
                           tuning.runs.file("runs.log"));
}

/// Rounds on more and more seeds, until one policy is left or the seeds are used up. Returns the
/// exit code of the run that ended it, or kOk.
int race(Tuning& tuning) {
  for (int seeds = 0; seeds < tuning.tune.train && policies_in(tuning.entrants).size() > 1;) {
    seeds = analysis::seeds_of_next_round(seeds, tuning.tune.train);
    const TuneCells round{policies_in(tuning.entrants), 0, seeds};
    std::cerr << "kvsweep: " << round.policies.size() << " policies run on " << seeds
              << " seeds; their output goes to "
              << analysis::terminal_text(tuning.runs.file("runs.log")) << std::endl;
    const int code = tuning.runs.run(kTrain, round, {});
    if (!is_over(code)) return code;
    for (auto& [policy, scores] : tuning.runs.scores(kTrain, round))
      tuning.scores[policy] = std::move(scores);
    require_scores(tuning);
    drop_the_beaten(tuning.entrants, tuning.scores, seeds);
    std::cout << seeds << " seeds: " << round.policies.size() << " policies, "
              << policies_in(tuning.entrants).size() << " left, "
              << leader(tuning.entrants, tuning.scores) << " leads" << std::endl;
    for (const Entrant& each : tuning.entrants)
      if (each.lacks_result && std::ranges::count(round.policies, each.policy) > 0)
        std::cout << each.policy << " is out: " << each.why_out << std::endl;
  }
  std::cout << "the race ends: "
            << (policies_in(tuning.entrants).size() > 1 ? "all seeds of tune.train are used"
                                                        : "one policy is left")
            << std::endl;
  tuning.runs.exclude(kTrain, tuning.entrants);
  tuning.runs.write_candidates(tuning.candidates, tuning.entrants, tuning.scores);
  return kOk;
}

std::string settings_of(const Candidate& candidate) {
  std::vector<std::string> texts;
  for (const auto& [key, param] : candidate.values)
    texts.push_back(key + " = " + sweep::to_text(param.value));
  return sweep::joined(texts);
}

/// "jct_wall_mean_s is 0.848 (0.845 to 0.852) of the untuned continuum's on 20 held-out seeds", and
/// what was different there.
std::string gain_of(const sweep::TuneSpec& tune, analysis::Ratio ratio) {
  if (analysis::direction_of(tune.metric) == analysis::Direction::higher) {
    ratio.value = 1 / ratio.value;
    ratio.interval = {1 / ratio.interval.high, 1 / ratio.interval.low};
  }
  std::string text = tune.metric + " is " + to_text(ratio) + " of the untuned " + tune.policy +
                     "'s on " + std::to_string(ratio.repeats) + " held-out seeds";
  std::vector<std::string> changed;
  for (const auto& [key, param] : tune.held_out_set)
    changed.push_back(key + " = " + sweep::to_text(param.value));
  return changed.empty() ? text : text + " with " + sweep::joined(changed);
}

/// The leader against the untuned policy, on seeds that had no part in its choice. It is written
/// only if it is better there.
int judge(Tuning& tuning, const Candidate& winner) {
  const sweep::TuneSpec& tune = tuning.tune;
  const TuneCells cells{{tune.policy, winner.name}, tune.train, tune.train + tune.held_out};
  const int code = tuning.runs.run(kHeldOut, cells, tune.held_out_set);
  if (!is_over(code)) return code;
  const Scores scores = tuning.runs.scores(kHeldOut, cells);
  if (scores.size() < 2)
    throw sweep::SpecError(tuning.runs.sweep_file() + ": no held-out cell has a result");
  const analysis::Ratio ratio =
      analysis::ratio_of(scores.at(winner.name), scores.at(tune.policy));  // less is better
  const std::string gain = gain_of(tune, ratio);
  std::cout << winner.name << " leads with " << settings_of(winner) << ":\n  " << gain << '\n';
  if (ratio.interval.high < 1)
    std::cout << "  "
              << analysis::terminal_text(tuning.runs.write_winner(
                     winner, "Tuned by kvsweep tune (" + tuning.spec.name + "): " + gain + "."))
              << '\n';
  else
    std::cout << "  " << (ratio.interval.low > 1 ? "worse" : "no gain shown")
              << " on held-out seeds: " << tune.policy << " stays as it is\n";
  return kOk;
}

void print_equals(const Tuning& tuning, const std::string& winner) {
  const auto left = std::ranges::count_if(tuning.entrants, &Entrant::is_in) - 1;
  if (left > 0)
    std::cout << left << (left == 1 ? " other policy is" : " other policies are")
              << " not told from " << winner << " by these seeds: see "
              << analysis::terminal_text(tuning.runs.file("candidates.csv")) << '\n';
}

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

/// Says that a run did not end as usual, whose reasons are on the screen already.
int failed(const Tuning& tuning, int code) {
  std::cerr << "kvsweep: tune ends, since " << why_search_ends(code, tuning.runs.file("runs.log"))
            << '\n';
  return code;
}

}  // namespace

int tune(const Options& options) {
  if (options.in_mpi_job)
    throw UsageError("tune starts runs itself: give --launch \"mpirun -n 8\" in place of mpirun");
  if (!options.output) throw UsageError("tune needs -o DIR, the folder for its runs");
  sweep::SweepSpec spec = sweep::load_spec(options.arguments.front());
  check(spec, options);
  Tuning tuning(options, std::move(spec));
  std::cout << tuning.candidates.size() << " candidates for " << tuning.tune.policy << std::endl;
  if (const int code = race(tuning); code != kOk) return failed(tuning, code);
  const std::string winner = leader(tuning.entrants, tuning.scores);
  print_equals(tuning, winner);
  const auto found = std::ranges::find(tuning.candidates, winner, &Candidate::name);
  if (found == tuning.candidates.end()) {
    std::cout << tuning.tune.policy << " stays as it is: no candidate is better\n";
    return kOk;
  }
  const int code = judge(tuning, *found);
  return code == kOk ? kOk : failed(tuning, code);
}

}  // namespace driver
