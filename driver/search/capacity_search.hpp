#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/capacity/grids.hpp"
#include "driver/search/rounds.hpp"

namespace driver {

/// The search for the capacities of a sweep's places. Its log is the archive: the sweep file there
/// lists the loads that were asked for, and the rules decide by its results from the first on.
///
///     A.h5             the archive
///     A.confirm.h5     that of another backend
///     A.capacity.toml  the sweep with every load that was asked for
///     A.capacity.log   what the runs printed
class CapacitySearch {
 public:
  /// `assigned` is the sweep with what the command line says of it.
  CapacitySearch(const Options& options, const sweep::SweepSpec& spec,
                 const sweep::SweepSpec& assigned, const std::string& archive);

  /// Searches until nothing is open or the budget is used up. Returns the exit code.
  int run(std::optional<int> budget);
  /// Runs the capacities and the loads above them on another backend, too, within the budget for
  /// all cells. Returns the exit code.
  int confirm(const std::string& backend, std::optional<int> budget);

  const Rounds& rounds() const { return rounds_; }
  const analysis::CapacityRules& rules() const { return rules_; }
  const std::vector<analysis::Capacity>& capacities() const { return capacities_; }
  /// Both backends at the loads that were confirmed.
  analysis::Grid confirmed(const std::string& backend, analysis::GridFormat format) const;
  const std::string& backend() const { return rounds_.plan().backend; }
  /// How many cells every load and seed would be.
  std::size_t grid_cells() const;

 private:
  using Questions = std::map<std::string, std::set<analysis::Question>>;  // by place

  void write_sweep() const;
  bool ask(const analysis::CapacityPlace& place, const analysis::Question& question,
           bool has_answer, Asked& asked);
  Asked judge();

  const sweep::SweepSpec& spec_;
  analysis::CapacityRules rules_;
  std::string search_table_;  // of the sweep file that it writes
  std::string stem_;          // of the archive
  ChildRuns runs_;
  Rounds rounds_;
  std::map<std::string, std::string> blocks_;           // by place: its axes as TOML
  std::map<std::string, std::set<std::size_t>> loads_;  // by place: of the plan beyond the axis
  analysis::KnownMetrics known_;
  std::vector<analysis::CapacityPlace> places_;
  std::vector<analysis::Capacity> capacities_;
  Questions further_;  // of confirm()
};

}  // namespace driver
