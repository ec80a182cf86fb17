#pragma once
#include <string>
#include <vector>

#include "sweeps/spec/tune.hpp"

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

}  // namespace driver
