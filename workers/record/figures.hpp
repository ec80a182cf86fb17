#pragma once
#include <cstdint>
#include <numeric>
#include <vector>

#include "sweeps/tables/result.hpp"
#include "sweeps/tables/table.hpp"

namespace worker {

/// Durations of the forward passes of /steps, without waits for copies, and the share due to
/// prefill. Decodes are assumed to add to a mixed step what they take alone: the median of the
/// steps that only decode a batch of that size, or of the nearest size that occurs.
class ForwardTimes {
 public:
  explicit ForwardTimes(const sweep::Table& steps);

  /// For each row of /steps: seconds of prefill in the step.
  const std::vector<double>& prefill_s() const { return prefill_s_; }
  double sum_prefill_s() const { return sum_prefill_s_; }
  double sum_decode_s() const { return sum_decode_s_; }
  int count() const { return count_; }  // forward passes

 private:
  std::vector<double> prefill_s_;
  double sum_prefill_s_ = 0, sum_decode_s_ = 0;
  int count_ = 0;
};

/// Summary figures, in display order.
class Figures {
 public:
  void add(const std::string& name, double value, const std::string& unit,
           bool is_volatile = false) {
    figures_.push_back({name, value, unit, is_volatile});
  }
  /// Adds mean, median, 99th percentile and maximum of the observed values, in seconds.
  void add_distribution(const std::string& name, std::vector<double> values);
  /// Adds the figures of a distribution; NaN where nothing was observed: an answer in one event has
  /// no time per token.
  void add_observed(const std::string& name, const std::vector<double>& values);
  /// makespan_s, jobs and turns; and tokens per second.
  void add_sizes(const sweep::CellResult& tables);
  void add_throughput(const sweep::CellResult& tables);
  std::vector<sweep::Figure> take() { return std::move(figures_); }

 private:
  std::vector<sweep::Figure> figures_;
};

/// The sum of a column.
template <class T>
double sum(const sweep::Table& table, const char* column) {
  const auto& values = table.values<T>(column);
  return std::accumulate(values.begin(), values.end(), 0.0);
}
/// For each row: seconds from one column's time to another's.
std::vector<double> between(const sweep::Table& table, const char* from, const char* to);

/// The size of a KV block.
struct BlockSize {
  int tokens;
  std::int64_t bytes;
};

/// The summary figures of a cell from its tables: job completion times, latencies, throughput,
/// cache, preemption, copies. docs/archive.md defines them.
std::vector<sweep::Figure> figures_of(const sweep::CellResult& tables, const BlockSize& block);

}  // namespace worker
