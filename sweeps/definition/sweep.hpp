#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/definition/figure.hpp"
#include "sweeps/definition/params.hpp"
#include "sweeps/definition/tune.hpp"

namespace sweep {

/// The newest sweep file format that this program reads.
inline constexpr std::int64_t kSchema = 1;

/// One varied key and its values, in the order written: at least one, all different, all of one
/// kind.
struct Axis {
  std::string name;
  std::vector<Param> values;
  Location where;
};

/// Holds for a cell whose value on `axis` is one of `any_of`.
struct Condition {
  std::string axis;
  std::vector<Param> any_of;
};

inline constexpr std::int64_t kMostRepeats = 100'000;
inline constexpr std::int64_t kLargestSeed = std::int64_t{1} << 53;  // JSON readers keep it exact

struct Repeat {
  std::int64_t n = 1;
  std::int64_t seed = 42;  // of repeat 0; repeat r uses seed + r
};

/// Cells for which every condition holds do not run.
struct Exclude {
  std::vector<Condition> when;
  std::string reason;
  Location where;
};

/// Further cells: the cross product of `point`, which names every axis that counts there, with
/// `set` on top.
struct Include {
  std::vector<Condition> point;
  ParamMap set;
  Location where;
};

/// Parameters set after the cross product, in cells for which every condition holds.
struct Override {
  std::vector<Condition> when;
  ParamMap set;
  Location where;
};

/// A sweep file, checked as far as it can be without knowing which parameters exist.
struct SweepSpec {
  std::string path;
  std::string text;  // the file, verbatim
  std::string name;
  std::optional<Param> backend;
  std::optional<Param> record;  // how much of each cell is stored, a text
  std::vector<Axis> axes;       // in the order written
  Repeat repeat;
  std::vector<Exclude> excludes;
  std::vector<Include> includes;
  std::vector<Override> overrides;
  std::vector<ChartSpec> figures;
  std::optional<TuneSpec> tune;
  ParamMap capacity;  // the table [capacity], with its name in front: kvsweep capacity reads it
  ParamMap base;      // every other scalar, dotted

  const Axis* find_axis(std::string_view name) const;
};

/// Reads a sweep file. Throws SpecError, and nothing else, for whatever is wrong with it.
SweepSpec load_spec(const std::string& path);
SweepSpec parse_spec(std::string text, const std::string& path);

}  // namespace sweep
