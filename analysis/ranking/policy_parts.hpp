#pragma once
// Private to this room: the parts of a policy are its order, admission, eviction, retention, tier,
// prefetch, preemption and layout.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/ranking/policy_rows.hpp"

namespace analysis {

/// What the keys of each part say; a part that is off, as in fcfs, says nothing.
using Parts = std::map<std::string_view, std::string>;
Parts parts_of(const ConfiguredCell& cell);

/// What turns a part on in this cell: "job_fcfs" of order.
std::string value_of(const ConfiguredCell& cell, std::string_view part);

/// The names of all parts, in the order in which sentences name them.
std::vector<std::string_view> part_names();

/// The named policy that has this part alone, with this value; empty if there is none.
std::string policy_of_part(std::string_view part, std::string_view value);

/// What the other policies of a row are compared with: fcfs, if the sweep changed it the one
/// without parts or the only one. Null if there is none.
const PolicyCells* base_of(const RateRow& row);

/// The parts of a cell that `base` has not; none if `base` has one that the cell has not.
Parts parts_beside(const ConfiguredCell& cell, const ConfiguredCell& base);

inline const ConfiguredCell& cell_of(const PolicyCells& policy) { return *policy.repeats.front(); }

}  // namespace analysis
