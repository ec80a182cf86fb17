#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/capacity/rows.hpp"
#include "driver/capacity/rounds.hpp"

namespace driver {

/// The files of a search, beside its archive.
struct CapacityFiles {
  explicit CapacityFiles(const std::string& archive);
  std::string archive, confirm;  // A.h5, and A.confirm.h5 for another backend
  std::string sweep;             // A.capacity.toml: the sweep with every load that was asked for
  std::string log;               // A.capacity.log: what the runs printed
};

/// The search for the capacities of a sweep's places. Its log is the archive: the sweep file there
/// lists the loads that were asked for, and the rules decide by its results from the first on.
class CapacitySearch {
 public:
  /// `assigned` is the sweep with what the command line says of it.
  CapacitySearch(const Options& options, const sweep::SweepSpec& spec,
                 const sweep::SweepSpec& assigned, CapacityFiles files);

  /// Searches until nothing is open or the budget is used up. Returns the exit code.
  int run();
  /// Runs the capacities and the loads above them on another backend, too. Returns the exit code.
  int confirm(const std::string& backend);
  void finish() const { rounds_.finish(asked_); }

  const analysis::CapacityRules& rules() const { return rules_; }
  const std::vector<analysis::Capacity>& capacities() const { return capacities_; }
  /// Both backends at the loads that were confirmed.
  analysis::Grid confirmed(const std::string& backend) const;
  const std::string& backend() const { return rounds_.plan().backend; }
  std::size_t asked() const { return asked_.size(); }
  std::size_t answered() const { return asked_.size() - open_.size(); }
  bool is_out_of_budget() const {
    return options_.budget && asked() > static_cast<std::size_t>(*options_.budget);
  }
  /// How many cells every load and seed would be.
  std::size_t grid_cells() const;

 private:
  using Questions = std::map<std::string, std::set<analysis::Question>>;  // by place

  void write_sweep() const;
  void judge();
  int cell_of(const analysis::CapacityCell& cell) const;
  bool ask(const analysis::CapacityPlace& place, const analysis::Question& question,
           bool has_answer);
  std::string stand() const;

  const Options& options_;
  const sweep::SweepSpec& spec_;
  analysis::CapacityRules rules_;
  std::string search_table_;  // of the sweep file that it writes
  CapacityFiles files_;
  ChildRuns runs_;
  Rounds rounds_;
  std::map<std::string, std::string> blocks_;           // by place: its axes as TOML
  std::map<std::string, std::set<std::size_t>> loads_;  // by place: of the plan beyond the axis
  analysis::KnownMetrics known_;
  std::vector<analysis::CapacityPlace> places_;
  std::vector<analysis::Capacity> capacities_;
  Questions further_;           // of confirm()
  std::set<int> asked_, open_;  // cells of the plan
};

}  // namespace driver
