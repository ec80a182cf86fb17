#pragma once
#include <filesystem>
#include <span>
#include <string>

#include "analysis/text/new_file.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/search/child_runs.hpp"
#include "driver/search/race.hpp"
#include "sweeps/definition/sweep.hpp"
#include "workers/profiles/profiles.hpp"

namespace driver {

/// The folder of a tuning, with everything that its runs read and write, so that they can be
/// repeated by hand. A second tuning of the same sweep goes on there.
///
///     NAME-tune.toml     the sweep, with the candidates as further policies
///     profiles/          the profiles, with a policy for each candidate
///     train.h5           the candidates' cells
///     held-out.h5        the cells that judge the winner
///     *.h5.asked         of an archive: which cells its last run was asked for (an --only)
///     candidates.csv     what became of each candidate
///     runs.log           what the runs printed
///     POLICY-tuned.toml  the winner
class TuneFolder {
 public:
  TuneFolder(std::filesystem::path path, const sweep::SweepSpec& spec)
      : path_(std::move(path)), spec_(spec) {}

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string sweep_file() const { return file(spec_.name + "-tune.toml"); }
  std::string profiles() const { return file("profiles"); }

  /// Writes the sweep and the profiles. Throws UsageError when the folder has another tuning.
  void write_sweep(std::span<const Candidate> candidates, const std::filesystem::path& from) const {
    const std::string text = sweep_text(candidates);
    const std::string archive = file("train.h5");
    if (std::filesystem::exists(archive) && open_archive(archive).spec_text() != text)
      throw UsageError(path_.string() +
                       " has the tuning of another sweep file, or of this one as it " +
                       "was: give another -o");
    const std::filesystem::path to = profiles();
    std::filesystem::create_directories(to);
    for (const char* name : {"gpus", "models", "policies", "published"})
      if (std::filesystem::exists(from / name))
        std::filesystem::copy(from / name, to / name,
                              std::filesystem::copy_options::recursive |
                                  std::filesystem::copy_options::overwrite_existing);
    for (const Candidate& each : candidates)
      write(to / "policies" / (each.name + ".toml"),
            policy_text(each.values, "A candidate of kvsweep tune."));
    write(sweep_file(), text);
  }
  void write_candidates(std::span<const Candidate> candidates, std::span<const Entrant> entrants,
                        const Scores& scores) const {
    std::string text = "policy";
    for (const sweep::TuneKey& key : spec_.tune->keys) text += ',' + key.key;
    text += ",seeds,ratio,low95,high95,out\n";
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      text += candidates[i].name;
      for (const auto& key : spec_.tune->keys)
        text += ',' + analysis::csv_text(sweep::bare_text(candidates[i].values.at(key.key).value));
      const analysis::Ratio ratio = analysis::ratio_of(scores_of(scores, candidates[i].name),
                                                       scores_of(scores, spec_.tune->policy));
      text += ',' + std::to_string(ratio.repeats);
      for (const double figure : {ratio.value, ratio.interval.low, ratio.interval.high})
        text += ',' + analysis::exact_number(figure);
      text += ',' + analysis::csv_text(entrants[i + 1].why_out) + '\n';
    }
    write(file("candidates.csv"), text);
  }
  /// Returns the path.
  std::string write_winner(const Candidate& winner, const std::string& comment) const {
    const std::string path = file(spec_.tune->policy + "-tuned.toml");
    write(path, policy_text(winner.values, comment));
    return path;
  }

 private:
  static void write(const std::filesystem::path& path, const std::string& text) {
    analysis::write_file(path, [&](std::ostream& out) { out << text; });
  }
  /// The sweep with a point for each candidate at all values of the other axes.
  std::string sweep_text(std::span<const Candidate> candidates) const {
    std::string text = spec_.text + "\n# The candidates of kvsweep tune.\n[[include]]\npolicy = " +
                       list_of(candidates, [](const auto& each) { return '"' + each.name + '"'; });
    for (const sweep::Axis& axis : spec_.axes)
      if (axis.name != "policy")
        text += '"' + axis.name + "\" = " + list_of(axis.values, [](const sweep::Param& each) {
                  return sweep::to_text(each.value);
                });
    return text;
  }
  std::string policy_text(const sweep::ParamMap& values, const std::string& comment) const {
    sweep::ParamMap all;
    for (const auto& [key, param] : values)
      all[key.substr(std::string_view("policy.").size())] = param;
    all.merge(worker::load_policy_profile(profiles(), spec_.tune->policy));
    std::string text = "# " + comment + '\n';
    for (const auto& [key, param] : all) text += key + " = " + sweep::to_text(param.value) + '\n';
    return text;
  }

  std::filesystem::path path_;
  const sweep::SweepSpec& spec_;
};

}  // namespace driver
