#pragma once
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "analysis/ranking/rating.hpp"
#include "driver/command_line/options.hpp"

namespace driver {

/// Bounds on the mean completion times of archived cells, restored from what their results depend
/// on.
struct ArchivedBounds {
  analysis::CellBounds by_key;
  std::vector<std::string> missing;  // why there is none: "2 cells: ..."
};

/// Bounds the cells with a result. Cells of a real backend get the bound of the same cell on sim,
/// whose costs are a model of theirs. Files that a cell read must be named by --set, as an archive
/// has only their digests.
ArchivedBounds bounds_of(std::span<const analysis::ConfiguredCell> cells, const Options& options);

void print_missing(const ArchivedBounds& bounds, std::ostream& out);

}  // namespace driver
