#pragma once
// Private to this room: where a number comes from.
#include <map>
#include <set>
#include <string>

namespace analysis {

/// Numbers of cells, by the name of their archive.
using NamedCells = std::map<std::string, std::set<int>>;

/// "cell 3 of a.h5", "cells 0 to 5 and 9 of a.h5; cell 2 of b.h5"
std::string to_text(const NamedCells& cells);

}  // namespace analysis
