#pragma once
#include <string>
#include <vector>

#include "sweeps/archive.hpp"

namespace sweep {

/// The cells that the driver of an archive has started and not committed, at any instant and
/// without a lock, sorted by key. Their processes may have died since.
std::vector<RunMark> run_marks(const std::string& archive);

}  // namespace sweep
