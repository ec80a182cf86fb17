#include "analysis/compare/compare.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>

#include "analysis/compare/groups.hpp"
#include "analysis/ranking/answer.hpp"
#include "analysis/text/escape.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/commands/commands.hpp"
#include "sweeps/spec/assignment.hpp"

namespace driver {
namespace {

using analysis::ConfiguredCell;

/// The key as cells have it: of servers, whose profile is the policy, "policy" for server.profile.
std::string key_of(const std::string& written, const std::vector<ConfiguredCell>& cells) {
  const bool servers = std::ranges::all_of(
      cells, [](const ConfiguredCell& cell) { return cell.record->backend == "server"; });
  return servers && written == "server.profile" ? "policy" : written;
}

std::set<std::string> values_of(const std::vector<ConfiguredCell>& cells, const std::string& key) {
  std::set<std::string> values;
  for (const ConfiguredCell& cell : cells) values.insert(analysis::key_text(cell.value(key)));
  return values;
}

/// The axes of an archive; of two archives those that both have, unless they share none.
std::vector<std::string> axes_of_both(const std::vector<ConfiguredCell>& cells,
                                      const std::vector<ConfiguredCell>& others) {
  const std::vector<std::string> axes = analysis::axes_to_compare(cells);
  const std::vector<std::string> theirs = analysis::axes_to_compare(others);
  std::vector<std::string> shared;
  std::ranges::copy_if(axes, std::back_inserter(shared), [&](const std::string& axis) {
    return std::ranges::find(theirs, axis) != theirs.end();
  });
  return shared.empty() ? axes : shared;
}

/// Adds the axes that were not named: cells are compared where they are equal there. Of two
/// archives only those with a value in common, since others would be compared, too.
void add_matching_axes(std::vector<std::string>& by, const std::vector<ConfiguredCell>& cells,
                       const std::vector<ConfiguredCell>& others) {
  for (const std::string& axis : analysis::axes_to_compare(cells)) {
    if (std::ranges::find(by, axis) != by.end()) continue;
    const auto values = values_of(cells, axis), theirs = values_of(others, axis);
    if (std::ranges::any_of(values, [&](const auto& each) { return theirs.contains(each); }))
      by.push_back(axis);
  }
}

analysis::CompareQuestion question_of(const Options& options,
                                      const std::vector<ConfiguredCell>& cells,
                                      const std::vector<ConfiguredCell>& others) {
  analysis::CompareQuestion question;
  question.by = options.by ? sweep::split(*options.by, ",") : axes_of_both(cells, others);
  std::erase(question.by, "");
  for (std::string& key : question.by) key = key_of(key, cells);
  if (options.by) add_matching_axes(question.by, cells, others);
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

void compare_two(sweep::ArchiveReader& a, const Options& options) {
  sweep::ArchiveReader b = open_archive(options.arguments[1]);
  if (options.base) throw UsageError("--base is for one archive; of two the first is the base");
  const auto both_cells = selected_of_archives({&a, &b}, options);
  const auto &first = both_cells[0], &second = both_cells[1];
  for (std::size_t i = 0; i < both_cells.size(); ++i)
    if (both_cells[i].empty())
      throw UsageError("no cell of " + options.arguments[i] + " is chosen by --only and --skip");
  print(compare_archives(first, second, question_of(options, first, second)), options);
}

/// Which policy is best where, as `table` and `report` decide it.
void print_best(const std::vector<ConfiguredCell>& cells, const std::string& metric,
                const Options& options) {
  if (grid_format(options) == analysis::GridFormat::csv) return;
  const auto rows = analysis::arrange(analysis::with_results(cells));
  analysis::print_answer_lines(rows, metric, std::cout);
}

void compare_one(sweep::ArchiveReader& archive, const Options& options) {
  const std::vector<ConfiguredCell> cells = selected_of_archives({&archive}, options).front();
  const analysis::CompareQuestion question = question_of(options, cells, cells);
  print(compare_within(cells, question), options);
  print_best(cells, question.metric, options);
}

}  // namespace

int compare(const Options& options) {
  sweep::ArchiveReader archive = open_archive(options.arguments[0]);
  try {
    options.arguments.size() > 1 ? compare_two(archive, options) : compare_one(archive, options);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  return kOk;
}

}  // namespace driver
