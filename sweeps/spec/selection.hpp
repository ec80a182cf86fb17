#pragma once
#include <string>
#include <vector>

#include "sweeps/spec/cell.hpp"

namespace sweep {

/// The cells that --only and --skip leave. Each filter is "key=value[,value][,key=value]": values
/// of one key are alternatives, keys must all hold. A cell is in when some --only (or none is
/// given) and no --skip matches it. Keys are parameters or "repeat"; a key or value that no cell
/// has is a SpecError.
class Selection {
 public:
  Selection(const std::vector<Cell>& cells, const std::vector<std::string>& only,
            const std::vector<std::string>& skip);
  bool contains(const Cell& cell) const;

 private:
  std::vector<std::vector<Condition>> only_, skip_;
};

}  // namespace sweep
