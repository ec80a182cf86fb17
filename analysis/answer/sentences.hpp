#pragma once
// Private to this room: phrases that sentences share.
#include <string>
#include <vector>

#include "analysis/compare/estimate.hpp"

namespace analysis {

/// "1", "1 and 3", "1, 3 and 6".
std::string listed(const std::vector<std::string>& texts);

/// "at 1 job/s", "at 1 and 3 jobs/s"; empty for jobs that do not arrive at a rate.
std::string at_rates(const std::vector<std::string>& rates);

/// "4.01 (3.90 .. 4.10)"; without an interval the ratio alone.
std::string ratio_text(const Ratio& ratio);

/// A value for each rate: "1.18 times as long at 3 jobs/s, 1.21 at 6 and 1.19 at 10"; of a single
/// rate "1.18 times as long". `unit` is " times as long"; without one "1.18 at 3, 1.21 at 6".
std::string per_rate(std::vector<std::string> values, const std::vector<std::string>& rates,
                     const std::string& unit);

void add_once(std::vector<std::string>& texts, const std::string& text);

}  // namespace analysis
