#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "sweeps/archive/reader.hpp"

namespace analysis {

/// One condition of a service level objective: "ttft_p90" at most 2.
struct Limit {
  std::string metric;
  double value = 0;
  bool is_most = true;  // less is better
  /// A metric that is not observed, as the TPOT of answers of one token, breaks no limit.
  bool is_met_by(double measured) const { return !(is_most ? measured > value : measured < value); }
  /// "ttft_p90 <= 2 s"
  std::string text() const;
  /// "s", "tok/s", or nothing.
  std::string unit() const;
  /// "2.5 s": a measured value.
  std::string with_unit(const std::string& number) const;
};

/// A service level objective. A search may be about several.
struct Slo {
  std::string name;  // empty if there is only one
  std::vector<Limit> limits;
};

/// "ttft_p90=2,tpot_p90=0.05". A metric is NAME_pN, NAME_mean or NAME_max of a latency (ttft, tpot,
/// first_token, queue, jct_wall, jct_turns), interactivity_pN, or one of a few figures. Throws
/// std::invalid_argument.
std::vector<Limit> parse_limits(const std::string& text);

/// The metric of a cell that has a result with /jobs and /turns; NaN where it was not observed.
/// Percentiles come from the rows of those tables.
class CellMetrics {
 public:
  CellMetrics(sweep::ArchiveReader& archive, const sweep::CellRecord& cell)
      : load_([&](std::string_view table) { return archive.load_table(cell.index, table); }),
        cell_(cell) {}
  explicit CellMetrics(const ConfiguredCell& cell) : load_(cell.load), cell_(*cell.record) {}
  double operator()(const std::string& metric);

 private:
  std::function<sweep::Table(std::string_view name)> load_;
  const sweep::CellRecord& cell_;
  std::map<std::string, std::vector<double>> values_;  // by column
};

}  // namespace analysis
