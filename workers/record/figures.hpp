#pragma once
#include <cstdint>
#include <vector>

#include "sweeps/tables/result.hpp"

namespace worker {

/// Summary figures, in display order.
class Figures {
 public:
  void add(const std::string& name, double value, const std::string& unit,
           bool is_volatile = false) {
    figures_.push_back({name, value, unit, is_volatile});
  }
  /// Adds mean, median, 99th percentile and maximum of the observed values, in seconds.
  void add_distribution(const std::string& name, std::vector<double> values);
  std::vector<sweep::Figure> take() { return std::move(figures_); }

 private:
  std::vector<sweep::Figure> figures_;
};

/// The size of a KV block.
struct BlockSize {
  int tokens;
  std::int64_t bytes;
};

/// The summary figures of a cell from its tables: job completion times, latencies, throughput,
/// cache, preemption, copies. docs/archive.md defines them.
std::vector<sweep::Figure> figures_of(const sweep::CellResult& tables, const BlockSize& block);

/// Turns of which a policy wanted to pin the KV, where pins have a share of the pool: how many were
/// pinned whole (pins_accepted), in part (pins_clipped) and not at all (pins_refused), by the
/// events.
std::vector<sweep::Figure> pin_outcomes(const sweep::Table& kv_events);

}  // namespace worker
