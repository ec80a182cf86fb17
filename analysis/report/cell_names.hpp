#pragma once
// Where a number comes from.
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace analysis {

/// The archive and the row of a cell, by its key.
using CellOrigins = std::map<std::string, std::pair<std::string, int>>;

/// "cell 3 of a.h5", "cells 0 to 5 and 9 of a.h5; cell 2 of b.h5"
std::string named_cells(const std::vector<std::string>& keys, const CellOrigins& origins);

}  // namespace analysis
