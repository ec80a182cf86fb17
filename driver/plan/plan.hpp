#pragma once
#include <iosfwd>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/command_line/options.hpp"
#include "sweeps/archive/cells_table.hpp"
#include "sweeps/definition/cell.hpp"
#include "workers/binding/binding.hpp"
#include "workers/cell/estimate.hpp"

namespace driver {

/// The shared part of the repeats of a cell: everything but the seed of their arrivals. Their
/// configuration is bound again when it is asked for: bound cells would be most of a plan's memory.
struct BoundRepeats {
  bool runs = false;
  sweep::CellStatus status = sweep::CellStatus::planned;
  std::string reason;  // why they do not run
  std::string backend;
  std::shared_ptr<worker::Profiles> profiles;             // of the whole plan
  std::shared_ptr<const std::set<std::string>> counting;  // keys; neighbors share equal ones
  std::string config;       // their canonical configuration without the number of the seed
  std::size_t seed_at = 0;  // where in it that number belongs
  // Set for cells that run:
  std::string gpu, policy;  // the profile's name, and the policy with its changes
  double host_gib = 0;      // 0 on a backend whose tiers are numbers (sim)
  std::shared_ptr<const server::ServerConfig> server;  // on backend server
};

struct CellCost {
  double served_s = 0;       // on the cell's clock
  double busy_s = 0;         // of a worker, with the start of a server that each cell starts
  std::string assumed = {};  // by the converter of its trace
  worker::ServerStarts starts{};
};

/// A cell together with what it runs as.
struct PlannedCell {
  sweep::Cell cell;
  bool selected = true;  // by --only and --skip; the others stay as they are
  std::string key;       // SHA-256 of config_json()
  std::shared_ptr<const BoundRepeats> repeats = {};  // never null in a plan
  std::optional<CellCost> cost = {};                 // where the plan was made with it

  bool runs() const { return repeats->runs; }
  /// The GPU that it is pinned to; empty for none.
  std::string gpu() const;
  /// The cell's configuration, if it runs. Binds the cell, some 40 us.
  worker::ExperimentConfig config() const;
  /// Canonical: everything that the result depends on, or the bare parameters of a cell that does
  /// not run.
  std::string config_json() const;
};

/// A sweep ready to run: every cell bound and checked, in plan order, selected or not.
struct Plan {
  sweep::SweepSpec spec;
  std::string backend;
  sweep::RecordLevel record = sweep::RecordLevel::all;  // how much of each cell is stored
  /// Results below this level run again: `record` where the user gave it, else none.
  sweep::RecordLevel least = sweep::RecordLevel::summary;
  std::vector<PlannedCell> cells;
};

/// Throws sweep::SpecError, which begins with `where`, unless this program has the backend.
void require_backend(const std::string& backend, const std::string& where);

/// Reads the sweep file, applies --set, --only and --skip, and binds every cell. Throws
/// sweep::SpecError for what is wrong with the file or a selected cell; other cells that are wrong
/// are infeasible. With `workloads` every selected cell that runs gets its cost, while it is bound.
Plan make_plan(const std::string& path, const Options& options,
               worker::WorkloadCache* workloads = nullptr);

/// The first selected cell that can run. Throws sweep::SpecError, which says why none can.
const PlannedCell& first_to_run(const Plan& plan);

/// The archive's rows for the cells of a plan, before any cell has run. Planned cells that are not
/// selected have a reason.
std::vector<sweep::CellRecord> planned_records(const Plan& plan);

/// A line for each key that is set and counts in none of the selected cells: on this backend, or
/// for these policies. A checkpoint named for a simulation is one. Keys of servers have one line.
void print_keys_without_effect(const Plan& plan, std::ostream& out);

/// The expected cost of a cell that runs: as the plan has it, or else estimated now. Reads or
/// generates its workload; throws worker::InputError when that is wrong.
CellCost cost_of(const PlannedCell& planned, worker::WorkloadCache& workloads);
/// The expected cost of a cell with this configuration.
CellCost estimate(const PlannedCell& planned, const worker::ExperimentConfig& config,
                  worker::WorkloadCache& workloads);

/// The configuration that stands for the cell in a simulation: of a server the policy of its
/// profile, on the costs of the card, or its own where there is none; of others their own.
worker::ExperimentConfig modelled(const PlannedCell& planned,
                                  const worker::ExperimentConfig& config);

/// The value of a figure; NaN where there is none of this name.
double figure_of(const std::vector<sweep::Figure>& figures, std::string_view name);

}  // namespace driver
