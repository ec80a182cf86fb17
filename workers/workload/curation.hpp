#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace workload {

enum class JobOrder : std::uint8_t {
  file,      // in the order of the lines
  id,        // by job id, bytewise
  shuffled,  // permuted by the seed; depends on the set of ids, not on the file's order
};

/// Which jobs of a file are replayed: the first `count`, in `order`, of those that pass the
/// filters.
struct Curation {
  std::optional<int> count = std::nullopt;  // unset: every job that passes
  int min_turns = 1;
  std::optional<int> max_turns = std::nullopt;
  /// Tokens of the whole job, last answer included; longer jobs are left out.
  std::optional<int> max_context = std::nullopt;
  JobOrder order = JobOrder::file;
  std::uint64_t seed = 42;  // of the shuffle
};

/// Why jobs of a file are not replayed.
struct Rejections {
  int too_few_turns = 0;
  int too_many_turns = 0;
  int over_context = 0;
  int not_needed = 0;  // left over after `count` jobs; their context was not measured

  bool operator==(const Rejections&) const = default;
};

/// Throws engine::InputError for a rule that no job can pass: a count below 1, an empty turn range,
/// a context below 1.
void check(const Curation& rule);

/// True if a job with this number of turns passes; otherwise counts the rejection.
bool passes_turn_range(const Curation& rule, int turns, Rejections& rejected);

/// Positions of `ids` in the order in which the rule takes them.
std::vector<std::size_t> order_of_choice(const Curation& rule, const std::vector<std::string>& ids);

/// For people: "3 with too few turns, 2 over the maximum context", or "none left out".
std::string describe(const Rejections& rejected);

}  // namespace workload
