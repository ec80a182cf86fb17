#include <iostream>

#include "analysis/ranking/answer.hpp"
#include "analysis/ranking/coverage.hpp"
#include "analysis/ranking/policy_table.hpp"
#include "analysis/text/escape.hpp"
#include "driver/bound/archived.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/commands/commands.hpp"

namespace driver {
int table(const Options& options) {
  const analysis::GridFormat format = grid_format(options);
  sweep::ArchiveReader archive = open_archive(options.arguments.front());
  const auto cells = selected_cells(archive, options);
  const auto published = analysis::all_published(options.profiles / "published");
  const ArchivedBounds bounds = options.bound ? bounds_of(cells, options) : ArchivedBounds();
  try {
    const std::string figure = analysis::known_metric(cells, options.metric);
    const auto with_result = analysis::with_results(cells);
    const auto rows = analysis::arrange(with_result);
    print_policy_tables(analysis::policy_tables(rows, figure, published, bounds.by_key), format,
                        std::cout);
    if (format != analysis::GridFormat::csv) analysis::print_answer_lines(rows, figure, std::cout);
    const bool any_kept = !analysis::kept_text(cells).empty();
    if (format != analysis::GridFormat::csv && (any_kept || with_result.size() < cells.size()))
      std::cout << analysis::terminal_text(analysis::coverage_text(cells)) << '\n';
    if (format != analysis::GridFormat::csv) print_missing(bounds, std::cout);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  return kOk;
}

}  // namespace driver
