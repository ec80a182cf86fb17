#include <algorithm>
#include <iostream>

#include "analysis/text/escape.hpp"
#include "driver/command_line/exit_codes.hpp"
#include "driver/commands/commands.hpp"
#include "driver/tune/candidates.hpp"
#include "driver/tune/folder.hpp"
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
  TuneFolder folder;
  TuneRuns runs;
  std::vector<Entrant> entrants;  // the untuned policy, then the candidates
  Scores scores{};

  Tuning(const Options& options, sweep::SweepSpec read)
      : spec(std::move(read)),
        tune(*spec.tune),
        candidates(draw_candidates(tune)),
        folder(*options.output, spec, options.profiles, candidates),
        runs(options, folder, spec) {
    entrants.push_back({tune.policy});
    for (const Candidate& each : candidates) entrants.push_back({each.name});
  }
};

/// Whether a run ended as usual: with a result of each cell, or without some of them.
bool is_over(int exit_code) { return exit_code == kOk || exit_code == kSomeCellsFailed; }

std::vector<std::string> policies_in(std::span<const Entrant> entrants) {
  std::vector<std::string> names;
  for (const Entrant& each : entrants)
    if (each.is_in()) names.push_back(each.policy);
  return names;
}

/// Rounds on more and more seeds, until one policy is left or the seeds are used up. Returns the
/// exit code of the run that ended it, or kOk.
int race(Tuning& tuning) {
  for (int seeds = 0; seeds < tuning.tune.train && policies_in(tuning.entrants).size() > 1;) {
    seeds = seeds_of_next_round(seeds, tuning.tune.train);
    const TuneCells round{policies_in(tuning.entrants), 0, seeds};
    const int code = tuning.runs.run(kTrain, round, {});
    if (!is_over(code)) return code;
    for (auto& [policy, scores] : tuning.runs.scores(kTrain, round))
      tuning.scores[policy] = std::move(scores);
    drop_the_beaten(tuning.entrants, tuning.scores, seeds);
    std::cout << seeds << " seeds: " << round.policies.size() << " policies, "
              << policies_in(tuning.entrants).size() << " left, "
              << leader(tuning.entrants, tuning.scores) << " leads" << std::endl;
  }
  tuning.folder.write_candidates(tuning.tune, tuning.candidates, tuning.entrants, tuning.scores);
  return kOk;
}

std::string settings_of(const Candidate& candidate) {
  std::vector<std::string> texts;
  for (const auto& [key, param] : candidate.values)
    texts.push_back("policy." + key + " = " + sweep::to_text(param.value));
  return sweep::joined(texts);
}

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

/// The winner against the untuned policy, on seeds that had no part in its choice.
int judge(Tuning& tuning, const Candidate& winner) {
  const sweep::TuneSpec& tune = tuning.tune;
  const TuneCells cells{{tune.policy, winner.name}, tune.train, tune.train + tune.held_out};
  const int code = tuning.runs.run(kHeldOut, cells, tune.held_out_set);
  if (!is_over(code)) return code;
  const Scores scores = tuning.runs.scores(kHeldOut, cells);
  if (scores.size() < 2)
    throw sweep::SpecError(tuning.folder.sweep_file() + ": no held-out cell has a result");
  const std::string gain =
      gain_of(tune, analysis::ratio_of(scores.at(winner.name), scores.at(tune.policy)));
  const std::string file = tuning.folder.write_winner(
      tune, winner, "Tuned by kvsweep tune (" + tuning.spec.name + "): " + gain + ".");
  std::cout << winner.name << " wins with " << settings_of(winner) << ":\n  " << gain << "\n  "
            << analysis::terminal_text(file) << '\n';
  return kOk;
}

void print_equals(const Tuning& tuning, const std::string& winner) {
  const auto left = std::ranges::count_if(tuning.entrants, &Entrant::is_in) - 1;
  if (left > 0)
    std::cout << left << (left == 1 ? " other policy is" : " other policies are")
              << " no worse for sure than " << winner << ": see "
              << analysis::terminal_text(tuning.folder.file("candidates.csv")) << '\n';
}

}  // namespace

int tune(const Options& options) {
  if (options.in_mpi_job)
    throw UsageError("tune starts runs itself: give --launch \"mpirun -n 8\" in place of mpirun");
  if (!options.output) throw UsageError("tune needs -o DIR, the folder for its runs");
  sweep::SweepSpec spec = sweep::load_spec(options.arguments.front());
  if (!spec.tune)
    throw sweep::SpecError(spec.path + ": the table [tune] is missing: which keys to vary");
  Tuning tuning(options, std::move(spec));
  std::cout << tuning.candidates.size() << " candidates for " << tuning.tune.policy << std::endl;
  if (const int code = race(tuning); code != kOk) return code;
  const std::string winner = leader(tuning.entrants, tuning.scores);
  print_equals(tuning, winner);
  const auto found = std::ranges::find(tuning.candidates, winner, &Candidate::name);
  if (found != tuning.candidates.end()) return judge(tuning, *found);
  std::cout << tuning.tune.policy << " as it is wins: no candidate is better\n";
  return kOk;
}

}  // namespace driver
