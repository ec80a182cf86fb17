#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sweeps/definition/cell.hpp"

namespace sweep {

/// Values of keys that must all hold.
using Alternative = std::vector<std::pair<std::string, Value>>;
/// Finds the values under a key that are printed as this text; empty: there are none.
using LabelReader = std::function<Alternative(const std::string& key, const std::string& text)>;

/// For each key of a filter the values that it allows.
using Filter = std::vector<std::vector<Alternative>>;

/// The cells that --only and --skip leave. Each filter is "key=value[,value][,key=value]": values
/// of one key are alternatives, keys must all hold. A cell is in when some --only (or none is
/// given) and no --skip matches it. Keys are parameters or "repeat"; values are those of cells or
/// their labels. A key or value that no cell has is a SpecError.
class Selection {
 public:
  Selection(
      const std::vector<Cell>& cells, const std::vector<std::string>& only,
      const std::vector<std::string>& skip,
      const LabelReader& read_label = [](const auto&, const auto&) { return Alternative(); });
  bool contains(const Cell& cell) const;

 private:
  std::vector<Filter> only_, skip_;
};

}  // namespace sweep
