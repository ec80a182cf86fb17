#pragma once
#include <string>

namespace driver {

/// The file A.h5.asked beside a search's archive, for `status`: the cells that the search wants at
/// present, a value of --only in each line (none: all), behind what it says of itself:
///   # capacity: round 2, 3 of 8 searches decided, 40 cells asked for
///   policy=fcfs,jps=4,repeat=0,1
inline std::string asked_file(const std::string& archive) { return archive + ".asked"; }
inline constexpr const char* kSearchSays = "# ";

}  // namespace driver
