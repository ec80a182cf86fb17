#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace workload {

enum class JobOrder : std::uint8_t {
  file,      // in the order of the lines
  id,        // by job id, bytewise
  shuffled,  // permuted by the seed; depends on the set of ids, not on the file's order
};

/// Positions of `ids` in this order.
std::vector<std::size_t> order_of_choice(JobOrder order, std::uint64_t seed,
                                         const std::vector<std::string>& ids);

}  // namespace workload
