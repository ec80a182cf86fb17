#include <algorithm>
#include <iostream>

#include "analysis/ranking/answer.hpp"
#include "analysis/ranking/policy_table.hpp"
#include "analysis/ranking/sentences.hpp"
#include "analysis/text/escape.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"

namespace driver {

void print_tables(const std::vector<analysis::ConfiguredCell>& cells, const Options& options,
                  const analysis::CellBounds& bounds) {
  const analysis::GridFormat format = grid_format(options);
  const auto published = analysis::all_published(options.profiles / "published");
  const std::string figure = analysis::known_metric(cells, options.metric);
  const auto with_result = analysis::with_results(cells);
  const auto rows = analysis::arrange(with_result);
  print_policy_tables(analysis::policy_tables(rows, figure, published, bounds), format, std::cout);
  if (format == analysis::GridFormat::csv) return;
  analysis::print_answer_lines(rows, figure, std::cout);
  if (with_result.size() < cells.size() ||
      std::ranges::any_of(cells, [](const auto& cell) { return cell.record->kept; }))
    std::cout << analysis::terminal_text(analysis::coverage_text(cells)) << '\n';
}

int table(const Options& options) {
  sweep::ArchiveReader archive = open_archive(options.arguments.front());
  print_tables(selected_cells(archive, options), options);
  return kOk;
}

}  // namespace driver
