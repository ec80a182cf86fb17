#pragma once
#include <filesystem>
#include <span>
#include <string>

#include "driver/tune/candidates.hpp"
#include "driver/tune/race.hpp"
#include "sweeps/spec/spec.hpp"

namespace driver {

/// The folder of a tuning: everything that its runs read and write, so that they can be repeated by
/// hand. A second tuning of the same sweep goes on there.
///
///     NAME-tune.toml     the sweep, with the candidates as further policies
///     profiles/          the profiles, with a policy for each candidate
///     train.h5           the candidates' cells
///     held-out.h5        the cells that judge the winner
///     confirm.h5         the finalists' cells on another backend, if asked for
///     *.h5.asked         of an archive: which cells its last run was asked for (an --only)
///     candidates.csv     what became of each candidate
///     runs.log           what the runs printed
///     POLICY-tuned.toml  the winner
class TuneFolder {
 public:
  /// Writes the sweep and the profiles. Throws UsageError when the folder has another tuning.
  TuneFolder(std::filesystem::path path, const sweep::SweepSpec& spec,
             const std::filesystem::path& profiles, std::span<const Candidate> candidates);

  std::string sweep_file() const { return sweep_file_.string(); }
  std::string file(const char* name) const { return (path_ / name).string(); }

  void write_candidates(const sweep::TuneSpec& tune, std::span<const Candidate> candidates,
                        std::span<const Entrant> entrants, const Scores& scores) const;
  /// What the archive's run is asked for, so that `kvsweep status` knows which cells are left.
  void write_asked(const std::string& archive, const std::string& only) const;
  /// Returns the path.
  std::string write_winner(const sweep::TuneSpec& tune, const Candidate& winner,
                           const std::string& comment) const;

 private:
  std::string policy_text(const std::string& policy, const sweep::ParamMap& values,
                          const std::string& comment) const;

  std::filesystem::path path_, sweep_file_;
};

}  // namespace driver
