#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/estimate.hpp"
#include "sweeps/definition/tune.hpp"

namespace driver {

/// A setting of the tuned keys.
struct Candidate {
  std::string name;  // of its policy: "continuum-07"
  sweep::ParamMap values;
};

/// A Latin hypercube drawn from the seed: each key's range is cut in as many parts as there are
/// candidates, and each part is used once. Ranges above 0 are cut evenly in the logarithm, and
/// numbers have three digits. Candidates that are equal after that are left out.
std::vector<Candidate> draw_candidates(const sweep::TuneSpec& tune);

inline const std::string kLacksResult = "a cell has no result";

/// A policy in the race, which is in it until another is surely better, or a result is missing.
struct Entrant {
  std::string policy;
  std::string why_out{};  // empty: in
  bool is_in() const { return why_out.empty(); }
};

/// By policy and seed; less is better. All are above 0.
using Scores = std::map<std::string, analysis::BySeed>;

/// The policy's scores, none if it has not run.
const analysis::BySeed& scores_of(const Scores& scores, const std::string& policy);

/// The policy that is in and has the least geometric mean; of equals the earlier one. Empty when
/// none is in.
std::string leader(std::span<const Entrant> entrants, const Scores& scores);

/// Takes those out that need more than the leader, over equal seeds, by the 95 % interval of the
/// ratio, and those that lack a score of one of the `seeds`.
void drop_the_beaten(std::span<Entrant> entrants, const Scores& scores, int seeds);

/// "0.831 (0.794 to 0.870)"
std::string to_text(const analysis::Ratio& ratio);

}  // namespace driver
