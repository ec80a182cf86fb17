#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/capacity/rows.hpp"
#include "driver/plan/plan.hpp"
#include "driver/tune/child_runs.hpp"

namespace driver {

/// The files of a search, beside its archive.
struct CapacityFiles {
  explicit CapacityFiles(const std::string& archive);
  std::string archive, confirm;  // A.h5, and A.confirm.h5 for another backend
  std::string sweep;             // A.capacity.toml: the sweep with every load that was asked for
  std::string log;               // A.capacity.log: what the runs printed
};

/// The search for the capacities of a sweep's places. Each round runs the cells that the rules ask
/// for. Its log is the archive: the sweep file there lists the loads that were asked for, and the
/// rules decide by its results from the first round on.
class CapacitySearch {
 public:
  CapacitySearch(const Options& options, const sweep::SweepSpec& spec,
                 analysis::CapacityRules rules, CapacityFiles files);

  /// Searches until nothing is open or the budget is used up. Returns the exit code.
  int run();
  /// Runs the capacities and the loads above them on another backend, too. Returns the exit code.
  int confirm(const std::string& backend);
  /// Marks cells of the plan that were not needed.
  void finish() const;

  const analysis::CapacityRules& rules() const { return rules_; }
  const std::vector<analysis::Capacity>& capacities() const { return capacities_; }
  /// Both backends at the loads that were confirmed.
  analysis::Grid confirmed(const std::string& backend) const;
  std::size_t cells() const { return asked_; }
  /// How many cells every load and seed would be.
  std::size_t grid_cells() const;
  bool is_out_of_budget() const { return is_out_of_budget_; }

 private:
  using Cells = std::map<std::string, std::set<analysis::Question>>;  // by place

  std::string sweep_text() const;
  void plan();
  void judge();
  bool plan_loads();
  std::vector<std::string> only_of(const Cells& cells) const;
  std::string progress() const;
  int run_open();

  const Options& options_;
  const sweep::SweepSpec& spec_;
  analysis::CapacityRules rules_;
  CapacityFiles files_;
  ChildRuns runs_;
  std::map<std::string, std::string> blocks_;           // by place: its axes as TOML
  std::map<std::string, std::string> filters_;          // by place: its axes as --only has them
  std::map<std::string, std::set<std::size_t>> loads_;  // by place: of the plan beyond the axis
  Plan plan_;
  std::vector<sweep::CellRecord> records_;  // of the plan, with the outcomes that are known
  std::set<std::string> tried_;             // keys of cells that this process has run
  analysis::KnownMetrics known_;
  std::vector<analysis::CapacityPlace> places_;
  std::vector<analysis::Capacity> capacities_;
  Cells further_;           // asked for by confirm()
  Cells questions_, open_;  // all that was asked for, and what lacks a result
  std::size_t asked_ = 0;
  int rounds_ = 0;
  bool is_out_of_budget_ = false;
};

inline std::string capacity_kind(const std::string& backend) {
  return backend == "sim" ? "MODELLED" : "MEASURED";
}

}  // namespace driver
