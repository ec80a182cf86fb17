#pragma once
// Private to this room: cells that a verdict would need.
#include <map>
#include <set>
#include <string>

#include "analysis/claims/claims.hpp"

namespace analysis {

/// Cells of an experiment that claims would need with other costs.
class MissingCells {
 public:
  /// Those of both sides of a row.
  void add(const ClaimRow& row);

  /// The command that runs them: `set` has the options " --set KEY=VALUE" of the other costs, and
  /// `suffix` tells their archive from others.
  std::string command(const std::string& experiment, const std::string& set,
                      const std::string& suffix) const;

 private:
  void add(const CellFilter& filter);
  std::string only_options() const;

  std::map<std::string, std::set<std::string>> values_;  // of the keys that select them
  std::set<std::string> any_;  // keys in which some claim takes every cell
  std::size_t repeats_ = 0;
};

}  // namespace analysis
