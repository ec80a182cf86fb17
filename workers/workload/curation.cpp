#include "workers/workload/curation.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "workers/engine/base/errors.hpp"

namespace workload {
namespace {

void require_positive(const char* key, int value) {
  if (value >= 1) return;
  throw engine::InputError(std::string("curation: ") + key + " is " + std::to_string(value) +
                           "; allowed: 1 or more");
}

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

void add_reason(std::string& list, int jobs, const char* reason) {
  if (jobs == 0) return;
  if (!list.empty()) list += ", ";
  list += std::to_string(jobs) + " " + reason;
}

}  // namespace

void check(const Curation& rule) {
  if (rule.count) require_positive("count", *rule.count);
  require_positive("min_turns", rule.min_turns);
  if (rule.max_context) require_positive("max_context", *rule.max_context);
  if (rule.max_turns && *rule.max_turns < rule.min_turns) {
    throw engine::InputError("curation: max_turns is " + std::to_string(*rule.max_turns) +
                             "; allowed: min_turns (" + std::to_string(rule.min_turns) +
                             ") or more");
  }
}

bool passes_turn_range(const Curation& rule, int turns, Rejections& rejected) {
  const bool few = turns < rule.min_turns;
  const bool many = rule.max_turns && turns > *rule.max_turns;
  rejected.too_few_turns += few ? 1 : 0;
  rejected.too_many_turns += many ? 1 : 0;
  return !few && !many;
}

std::vector<std::size_t> order_of_choice(const Curation& rule,
                                         const std::vector<std::string>& ids) {
  std::vector<std::size_t> positions(ids.size());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  if (rule.order == JobOrder::file) return positions;
  std::sort(positions.begin(), positions.end(),
            [&](std::size_t a, std::size_t b) { return ids[a] < ids[b]; });
  if (rule.order == JobOrder::shuffled) shuffle(positions, rule.seed);
  return positions;
}

std::string describe(const Rejections& rejected) {
  std::string list;
  add_reason(list, rejected.too_few_turns, "with too few turns");
  add_reason(list, rejected.too_many_turns, "with too many turns");
  add_reason(list, rejected.over_context, "over the maximum context");
  add_reason(list, rejected.not_needed, "not needed");
  return list.empty() ? "none left out" : list;
}

}  // namespace workload
