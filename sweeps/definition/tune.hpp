#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sweeps/definition/params.hpp"

namespace sweep {

/// A key that `kvsweep tune` varies: one of `choices`, or a number of the range if there are none.
struct TuneKey {
  std::string key;  // "policy.ttl_s"
  std::vector<Value> choices;
  double least = 0, most = 0;
  bool is_integer = false;  // both ends were written as integers
};

/// The table [tune] of a sweep file. It changes nothing of the sweep's own cells.
struct TuneSpec {
  std::string policy;  // the named policy that is tuned
  std::string metric = "jct_wall_mean_s";
  int candidates = 0;
  std::int64_t seed = 1;  // of the candidates
  int train = 0;          // repeats of the sweep that candidates are judged by, from the first
  int held_out = 0;       // repeats after those, which judge the winner
  ParamMap held_out_set;  // keys that have another value in the held-out cells
  std::vector<TuneKey> keys;
  Location where;
};

/// Every leaf of [tune] as its values, a list of one for a scalar. Throws SpecError.
TuneSpec tune_of(const std::map<std::string, std::vector<Param>>& leaves,
                 const std::string& document);

}  // namespace sweep
