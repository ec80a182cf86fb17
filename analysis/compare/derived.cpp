#include "analysis/compare/derived.hpp"

#include <algorithm>
#include <functional>

#include "analysis/digest/statistics.hpp"

namespace analysis {

void derive_figures(ConfiguredCell& cell, sweep::ArchiveReader& reader, int row) {
  if (!cell.record->has_result(sweep::RecordLevel::jobs) ||
      cell.find_figure(kFirstTokenP99) != nullptr)
    return;
  const sweep::Table jobs = reader.load_table(row, "jobs");
  std::vector<double> seconds = jobs.values<double>("t_first_token_s");
  std::ranges::transform(seconds, jobs.values<double>("t_arrive_s"), seconds.begin(), std::minus());
  cell.derived.push_back({kFirstTokenP99, percentile(observed(seconds), 99), "s"});
}

}  // namespace analysis
