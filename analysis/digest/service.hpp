#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "sweeps/tables/table.hpp"

namespace analysis {

/// Latencies of a cell: of jobs (completion), and of turns: first token, each further token, queue.
enum class Latency : std::uint8_t { jct, ttft, tpot, queue };
inline constexpr std::array<const char*, 4> kLatencyNames = {"jct", "ttft", "tpot", "queue"};
inline constexpr std::array<double, 3> kLatencyPercents = {50, 90, 99};

/// Service-level objectives: the most seconds that each latency may take; infinite where any will
/// do. By Latency.
struct ServiceGoals {
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  std::array<double, 4> most_s = {kNone, 2, 0.05, kNone};

  /// "ttft <= 2 s, tpot <= 0.05 s".
  std::string text() const;
};

/// Reads "ttft=2,tpot=0.05". Throws std::invalid_argument, which says what is allowed.
ServiceGoals parse_goals(const std::string& text);

/// How a cell serves its jobs.
struct Service {
  std::array<std::array<double, 3>, 4> percentiles_s{};  // by Latency and kLatencyPercents
  double attained = 0;       // share of the turns that finished and met every goal
  double goodput_per_s = 0;  // such turns by second, until the last job ends
};

/// A turn without a second token has no time between tokens and meets that goal; a goal for jobs
/// counts for each of their turns.
Service service_of(const sweep::Table& jobs, const sweep::Table& turns, const ServiceGoals& goals);

}  // namespace analysis
