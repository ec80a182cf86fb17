#include "sweeps/definition/expectation.hpp"

#include <algorithm>
#include <limits>

#include "sweeps/tables/result.hpp"

namespace sweep {
namespace {

constexpr std::string_view kEvictions = "expect.evictions", kEvictedJob = "expect.evicted_job";

/// The value that the result has instead; empty if the expectation is met.
std::string found_instead(const Expectation& expected, const CellResult& result) {
  const auto rows = static_cast<std::int64_t>(result.evictions.rows());
  if (expected.what == kEvictions) return rows == expected.value ? "" : std::to_string(rows);
  const auto& jobs = result.evictions.values<std::int32_t>("job");
  const auto other =
      std::ranges::find_if(jobs, [&](std::int32_t job) { return job != expected.value; });
  return other == jobs.end() ? "" : std::to_string(*other);
}

}  // namespace

std::vector<Expectation> expectations_of(const ParamMap& params, const std::string& document) {
  ParamReader reader(params, document);
  std::vector<Expectation> expected;
  for (const std::string_view name : {kEvictions, kEvictedJob}) {
    const std::string key(name);
    const std::int64_t value = reader.integer(key, 0, 0, std::numeric_limits<std::int32_t>::max());
    if (reader.has(key)) expected.push_back({key, value, reader.where(key)});
  }
  reader.reject_unknown();
  return expected;
}

std::string unmet(std::span<const Expectation> expected, const CellResult& result) {
  std::string text;
  for (const Expectation& each : expected) {
    const std::string found = found_instead(each, result);
    if (found.empty()) continue;
    text += (text.empty() ? "" : "; ") + to_text(each.where) + ": " + each.what + " = " +
            std::to_string(each.value) + ", found " + found;
  }
  return text;
}

}  // namespace sweep
