#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sweeps/spec/params.hpp"

namespace sweep {

struct CellResult;

/// What every cell of a sweep must show, or it has failed: a line of the table [expect] of a sweep
/// file. It judges results and is no part of what a cell is.
struct Expectation {
  std::string what;
  std::int64_t value = 0;
  Location where;
};

/// Reads expect.evictions, rows of /evictions, and expect.evicted_job, the job of each of them;
/// anything else is an unknown key. Throws SpecError.
std::vector<Expectation> expectations_of(const ParamMap& params, const std::string& document);

/// What the result does not show, with the places of the file that ask for it; empty when it shows
/// all of them.
std::string unmet(std::span<const Expectation> expected, const CellResult& result);

}  // namespace sweep
