#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sweeps/spec/spec.hpp"
#include "sweeps/tables/status.hpp"

namespace sweep {

inline constexpr std::size_t kMostCells = 1'000'000;

/// The size of the host tier.
inline constexpr std::string_view kDramAxis = "dram_gib";

/// One experiment of a sweep.
struct Cell {
  int index = 0;    // position in the plan
  ParamMap params;  // base, axes and overrides merged, dotted keys
  AxisValues axes;  // in the order of the file; without those that do not count
  int repeat = 0;
  std::int64_t seed = 0;  // repeat.seed + repeat
  CellStatus status = CellStatus::planned;
  std::string reason;  // why it is excluded
};

/// Whether `key` may count in some cells and not in others: a parameter of policies, or dram_gib.
inline bool may_collapse(std::string_view key) {
  return key.starts_with("policy.") || key == kDramAxis;
}

/// Whether a key that may collapse counts among these parameters, whatever its value: policy.ttl_s
/// does not for a policy without pins.
using Counts = std::function<bool(const ParamMap&, const std::string& key)>;

/// The cells of a sweep in plan order: the cross product with the last axis fastest, then the
/// includes; repeats innermost. Where `counts` says no, an axis collapses to one cell without it.
/// Throws SpecError, e.g. when an include repeats a cell, and when there would be more than
/// kMostCells.
std::vector<Cell> expand(const SweepSpec& spec, const Counts& counts);

/// The first cell of the cross product that is not excluded. Forms no other cell, so that an error
/// that all cells have is found early. Throws SpecError when there are too many cells.
std::optional<Cell> first_planned(const SweepSpec& spec, const Counts& counts);

/// "gpu=h100-80gb policy=fcfs jps=1", with " engine.emulate=a100-40gb" behind it for a pool that is
/// not the card's own, axis or not, and " repeat=2" from repeat 1 on.
std::string label(const Cell& cell);

}  // namespace sweep
