#include <algorithm>
#include <iostream>

#include "analysis/compare/compare.hpp"
#include "analysis/compare/policy_table.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/exit_codes.hpp"
#include "driver/commands/commands.hpp"

namespace driver {
namespace {

/// What the marks mean, and what is missing.
void print_legend(const std::vector<analysis::PolicyTable>& tables,
                  const std::vector<analysis::ConfiguredCell>& cells, std::ostream& out) {
  std::size_t most = 0;
  bool has_tiers = false;
  for (const analysis::PolicyTable& table : tables) {
    for (const analysis::PolicyRow& row : table.rows) {
      for (const analysis::PolicyEntry& entry : row.entries) {
        most = std::max(most, entry.mean.repeats);
        has_tiers = has_tiers || entry.dram != "-";
      }
    }
  }
  out << "\n* best of its row" << (has_tiers ? ", with its host memory" : "")
      << "; = ties with it: less than 1 % apart, or repeats do not tell them apart\n";
  out << (most < 3 ? "no interval (+-) below three repeats: set n = 3 or more in [repeat]\n"
                   : "+- 95 % interval of the mean over the seeds (Student's t); / fcfs: geometric "
                     "mean over equal seeds\n");
  const auto with_result = std::ranges::count_if(cells, [](const analysis::ConfiguredCell& cell) {
    return cell.record->status == sweep::CellStatus::ok;
  });
  if (static_cast<std::size_t>(with_result) < cells.size())
    out << with_result << " of " << cells.size() << " cells have a result\n";
}

}  // namespace

int table(const Options& options) {
  const analysis::GridFormat format = grid_format(options);
  const sweep::ArchiveReader archive = open_archive(options.arguments.front());
  const auto cells = selected_cells(archive.cells(), options);
  const auto published = analysis::all_published(options.profiles / "published");
  try {
    const std::string metric = analysis::known_metric(cells, options.metric);
    const auto tables = analysis::policy_tables(cells, metric, published);
    print_policy_tables(tables, format, std::cout);
    if (format != analysis::GridFormat::csv) print_legend(tables, cells, std::cout);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  return kOk;
}

}  // namespace driver
