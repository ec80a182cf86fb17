#pragma once
// Phrases that sentences share.
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "analysis/compare/estimate.hpp"

namespace analysis {

/// "1", "1 and 3", "1, 3 and 6".
std::string listed(const std::vector<std::string>& texts);

/// "at 1 job/s", "at 1 and 3 jobs/s"; empty for jobs that do not arrive at a rate.
std::string at_rates(const std::vector<std::string>& rates);

/// Ratios at several rates: "1.14 to 1.21 times as long (1.12 .. 1.23)", from the least to the
/// most, with an interval around all of theirs. `unit` is " times as long", or empty.
std::string ratios_text(std::span<const Ratio> ratios, const std::string& unit);

/// "36 to 40", or "36" if the least and the most have the same text.
std::string from_to(const std::string& least, const std::string& most);

/// "0 to 5", "9": a range of `shortest` numbers or more as one text.
std::vector<std::string> ranges_of(const std::set<int>& numbers, int shortest);

/// "30 of 32 cells have a result; missing: gpu=h100-80gb policy=pin jps=3 and 1 more". Cells that
/// their sweep excludes, or that no run was asked for, are not missing: "33 of 33 cells have a
/// result; 147 excluded; 2 not asked for". Behind it kept_text().
std::string coverage_text(std::span<const ConfiguredCell> cells);
/// "2 results are kept from another setting".
std::string kept_text(std::size_t kept);

}  // namespace analysis
