#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sweeps/definition/params.hpp"

namespace sweep {

struct CellResult;

/// A line of the table [expect] of a sweep file. A cell with another result has failed. Not part of
/// the identity of a cell.
struct Expectation {
  std::string what;
  std::int64_t value = 0;
  Location where;
};

/// Reads expect.evictions, rows of /evictions, and expect.evicted_job, the job of each of them;
/// anything else is an unknown key. Throws SpecError.
std::vector<Expectation> expectations_of(const ParamMap& params, const std::string& document);

/// Describes the expectations that the result does not meet, with their places in the file; empty
/// if it meets all.
std::string unmet(std::span<const Expectation> expected, const CellResult& result);

}  // namespace sweep
