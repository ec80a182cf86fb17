#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/capacity/limits.hpp"
#include "analysis/capacity/search.hpp"
#include "sweeps/definition/sweep.hpp"

namespace analysis {

struct CapacityRules {
  std::string load;  // the axis: "workload.live" or "jps"
  std::vector<Slo> slos;
  SearchRules search;
  /// Values of the axis workload.seed, if that tells the seeds apart: live agents do not depend on
  /// the seed of arrivals, which tells repeats apart.
  std::vector<std::int64_t> workload_seeds;
  std::map<std::string, double> price_per_hour, watts;  // by GPU, where they are known

  /// "agents", or "jobs/s"
  std::string unit() const { return load == "jps" ? "jobs/s" : "agents"; }
  /// Whether there is no load below the least.
  bool begins_at_one_agent() const { return load == "workload.live" && search.loads.front() == 1; }
  /// Whether the axis tells loads or seeds apart, and not places.
  bool is_own(const std::string& axis) const;
  /// The other axes as a text, equal for values that an archive does not tell apart, 64 and 64.0.
  std::string place_name(const sweep::AxisValues& axes) const;
};

inline constexpr const char* kSeedAxis = "workload.seed";

/// The value of the GPU; NaN if there is none.
double known(const std::map<std::string, double>& values, const std::string& gpu);

/// The rules of the sweep's axes and its table [capacity], or of the table that a search wrote
/// behind the sweep that it began with, search_table(). Throws sweep::SpecError for what is wrong
/// with the file.
CapacityRules capacity_rules(const sweep::SweepSpec& spec);

/// Whether a search wrote the file.
bool is_of_search(const sweep::SweepSpec& spec);

/// The rules of a file that no search wrote have no objective, and the loads of its axis; none
/// without three of them.
std::optional<CapacityRules> rules_of_archive(const sweep::SweepSpec& spec);

/// Why cells of a confirming archive are left out: it repeats the loads that decide a search
/// elsewhere, and says no capacity itself.
inline constexpr const char* kConfirmsNone = "confirms no capacity";

/// The table [capacity.search]: that of the sweep, `capacity`, with its loads and seeds.
std::string search_table(const sweep::ParamMap& capacity, const CapacityRules& rules);

std::vector<std::string> gpus_of(const sweep::SweepSpec& spec);

/// The value as a text; numbers as they are written shortest, 64 for 64.0.
std::string value_text(const sweep::Value& value);

}  // namespace analysis
