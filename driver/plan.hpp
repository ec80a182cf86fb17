#pragma once
#include <optional>
#include <string>
#include <vector>

#include "driver/options.hpp"
#include "sweeps/cell.hpp"
#include "workers/binding.hpp"

namespace driver {

/// A cell together with what it runs as; `bound` and `key` are empty for cells that do not run.
struct PlannedCell {
  sweep::Cell cell;
  std::string key;  // SHA-256 of the canonical JSON of everything that the result depends on
  std::optional<worker::BoundCell> bound;
};

/// A sweep ready to run: every cell bound and checked, in plan order.
struct Plan {
  sweep::SweepSpec spec;
  std::string backend;
  std::vector<PlannedCell> cells;
};

/// Reads the sweep file, applies --set, --only and --skip, and binds every cell. Throws
/// sweep::SpecError.
Plan make_plan(const std::string& path, const Options& options);

}  // namespace driver
