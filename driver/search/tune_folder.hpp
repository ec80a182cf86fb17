#pragma once
#include <filesystem>
#include <span>
#include <string>

#include "driver/search/race.hpp"
#include "sweeps/definition/sweep.hpp"

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
  void write_sweep(std::span<const Candidate> candidates, const std::filesystem::path& from) const;
  void write_candidates(std::span<const Candidate> candidates, std::span<const Entrant> entrants,
                        const Scores& scores) const;
  /// Returns the path.
  std::string write_winner(const Candidate& winner, const std::string& comment) const;

 private:
  std::string policy_text(const sweep::ParamMap& values, const std::string& comment) const;

  std::filesystem::path path_;
  const sweep::SweepSpec& spec_;
};

}  // namespace driver
