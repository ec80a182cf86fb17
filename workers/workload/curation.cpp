#include "workers/workload/curation.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace workload {
namespace {

/// Uniform in [0, bound), with the same result for every standard library, unlike
/// std::uniform_int_distribution.
std::uint64_t uniform_below(std::uint64_t bound, std::mt19937_64& generator) {
  const std::uint64_t rejected_from = std::numeric_limits<std::uint64_t>::max() / bound * bound;
  std::uint64_t drawn = generator();
  while (drawn >= rejected_from) drawn = generator();
  return drawn % bound;
}

void shuffle(std::vector<std::size_t>& positions, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  for (std::size_t left = positions.size(); left > 1; --left) {
    std::swap(positions[left - 1], positions[uniform_below(left, generator)]);
  }
}

}  // namespace

std::vector<std::size_t> order_of_choice(JobOrder order, std::uint64_t seed,
                                         const std::vector<std::string>& ids) {
  std::vector<std::size_t> positions(ids.size());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  if (order == JobOrder::file) return positions;
  std::sort(positions.begin(), positions.end(),
            [&](std::size_t a, std::size_t b) { return ids[a] < ids[b]; });
  if (order == JobOrder::shuffled) shuffle(positions, seed);
  return positions;
}

}  // namespace workload
