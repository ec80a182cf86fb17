#pragma once
#include <iosfwd>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/command_line/options.hpp"
#include "sweeps/archive/cells_table.hpp"
#include "sweeps/spec/cell.hpp"
#include "workers/binding/binding.hpp"

namespace driver {

/// What the repeats of a cell share: everything but the seed of their arrivals.
struct BoundRepeats {
  // With the seed of one of them and without the identity, which the texts below have, and the keys
  // that count, which are beside it; empty: they do not run.
  std::optional<worker::BoundCell> bound;
  std::shared_ptr<const std::set<std::string>> counting;  // neighbours share equal ones
  sweep::CellStatus status = sweep::CellStatus::planned;
  std::string reason;               // why they do not run
  std::string before_seed, behind;  // the parts of their canonical configuration around the seed
};

/// A cell together with what it runs as.
struct PlannedCell {
  sweep::Cell cell;
  bool selected = true;  // by --only and --skip; the others stay as they are
  std::string key;       // SHA-256 of config_json()
  std::shared_ptr<const BoundRepeats> repeats = {};  // never null in a plan
  const worker::BoundCell* bound = nullptr;  // of `repeats`; null for a cell that does not run

  /// What the cell runs, if `bound` is not null.
  worker::ExperimentConfig config() const;
  /// Canonical: everything that the result depends on, or the bare parameters of a cell that does
  /// not run.
  std::string config_json() const;
};

/// A sweep ready to run: every cell bound and checked, in plan order, selected or not.
struct Plan {
  sweep::SweepSpec spec;
  std::string backend;
  std::vector<PlannedCell> cells;
};

/// Reads the sweep file, applies --set, --only and --skip, and binds every cell. Throws
/// sweep::SpecError for what is wrong with the file or a selected cell; other cells that are wrong
/// are infeasible.
Plan make_plan(const std::string& path, const Options& options);

/// The archive's rows for the cells of a plan, before any cell has run.
std::vector<sweep::CellRecord> planned_records(const Plan& plan);

/// A line for each key that is set and counts in none of the selected cells: on this backend, or
/// for these policies. A checkpoint named for a simulation is one.
void print_keys_without_effect(const Plan& plan, std::ostream& out);

/// Host memory that the cell takes while it runs, GiB: 0 on a backend whose tiers are numbers
/// (sim).
double host_gib(const PlannedCell& planned);

}  // namespace driver
