#include "analysis/compare/compare.hpp"

#include <algorithm>
#include <iostream>

#include "analysis/ranking/answer.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/list.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "sweeps/definition/assignment.hpp"

namespace driver {
namespace {

using analysis::ConfiguredCell;

/// The key as cells have it: of servers, whose profile is the policy, "policy" for server.profile.
std::string key_of(const std::string& written, const std::vector<ConfiguredCell>& cells) {
  const bool servers = std::ranges::all_of(
      cells, [](const ConfiguredCell& cell) { return cell.record->backend == "server"; });
  return servers && written == "server.profile" ? "policy" : written;
}

/// Cells are compared where they are equal on the axes that --by does not name.
analysis::CompareQuestion question_of(const Options& options,
                                      const std::vector<ConfiguredCell>& cells) {
  analysis::CompareQuestion question;
  if (options.by) question.by = sweep::split(*options.by, ",");
  std::erase(question.by, "");
  for (std::string& key : question.by) key = key_of(key, cells);
  for (const std::string& axis : analysis::axes_to_compare(cells))
    analysis::add_once(question.by, axis);
  question.metric = analysis::known_metric(cells, options.metric);
  if (!options.base) return question;
  const sweep::Assignment base = sweep::parse_assignment(*options.base, "--base");
  if (question.by.empty() || key_of(base.key, cells) != question.by.front())
    throw UsageError("--base names \"" + base.key + "\"; the first key of --by is compared, \"" +
                     (question.by.empty() ? "" : question.by.front()) + '"');
  question.base = base.param.value;
  return question;
}

/// The kind of mean that the ratios are.
std::string ratio_text(const analysis::ComparisonReport& report) {
  const auto is_paired = [](const analysis::Comparison& row) { return row.ratio.paired; };
  if (std::ranges::all_of(report.rows, is_paired)) return "geometric mean over equal seeds";
  if (std::ranges::none_of(report.rows, is_paired)) return "of geometric means: no seeds are equal";
  return "geometric mean over equal seeds, if there are any";
}

void print(const analysis::ComparisonReport& report, const Options& options) {
  const analysis::GridFormat format = grid_format(options);
  print_grid(analysis::to_grid(report, format), format, std::cout);
  if (format == analysis::GridFormat::csv) return;
  std::cout << '\n'
            << analysis::terminal_text(report.metric) << "; ratio: value / base, "
            << ratio_text(report) << ", 95 % interval, unadjusted";
  if (std::ranges::any_of(report.rows, [](const auto& row) {
        return row.ratio.repeats < analysis::kFewestRepeats;
      }))
    std::cout << "; no interval below three repeats: set n = 3 or more in [repeat]";
  if (report.without_result > 0)
    std::cout << "; " << report.without_result << " cells without a result";
  if (report.without_partner > 0)
    std::cout << "; " << report.without_partner << " without a cell to compare them with";
  std::cout << '\n';
}

}  // namespace

int compare(const Options& options) {
  sweep::ArchiveReader archive = open_archive(options.arguments.front());
  const std::vector<ConfiguredCell> cells = selected_cells(archive, options);
  const analysis::CompareQuestion question = question_of(options, cells);
  print(compare_within(cells, question), options);
  if (grid_format(options) != analysis::GridFormat::csv)
    analysis::print_answer_lines(analysis::arrange(analysis::with_results(cells)), question.metric,
                                 std::cout);
  return kOk;
}

}  // namespace driver
