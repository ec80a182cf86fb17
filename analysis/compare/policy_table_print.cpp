#include <charconv>
#include <cmath>
#include <ostream>

#include "analysis/compare/policy_table.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;

double half_interval(const PolicyEntry& entry) {
  return (entry.mean.interval.high - entry.mean.interval.low) / 2;
}

/// The published value, with at least one decimal.
std::string published_text(double value) {
  if (std::isnan(value)) return "-";
  const std::string text = exact_number(value);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

/// A star for the best, an equals sign for those that tie with it; in Markdown both are bold.
std::string value_text(const PolicyEntry& entry, GridFormat format) {
  std::string text = four_digits(entry.mean.value);
  if (!std::isnan(entry.mean.interval.low)) text += " +- " + four_digits(half_interval(entry));
  const bool best = entry.standing == Standing::best, tied = entry.standing == Standing::tied;
  if (format == GridFormat::md) return best || tied ? "**" + text + "**" : text;
  return text + (best ? '*' : tied ? '=' : ' ');
}

const PolicyEntry* fcfs_of(const PolicyRow& row) {
  for (const PolicyEntry& entry : row.entries) {
    if (entry.variant == "fcfs") return &entry;
  }
  return nullptr;
}

/// Appends a blank to entries without a winner mark, so that digits align.
class RowAdder {
 public:
  RowAdder(Grid& grid, GridFormat format) : grid_(grid), pad_(format == GridFormat::text) {}

  template <class TextOf>
  void add(const std::string& jps, const std::string& what, const PolicyRow& row, bool padded,
           TextOf text_of) {
    Texts texts = {jps, what};
    for (const PolicyEntry& entry : row.entries)
      texts.push_back(text_of(entry) + (pad_ && padded ? " " : ""));
    grid_.rows.push_back(std::move(texts));
  }

 private:
  Grid& grid_;
  bool pad_;
};

void add_row(Grid& grid, const PolicyTable& table, const PolicyRow& row, GridFormat format) {
  RowAdder lines(grid, format);
  lines.add(row.jps, "mean", row, false,
            [&](const PolicyEntry& entry) { return value_text(entry, format); });
  const PolicyEntry* fcfs = fcfs_of(row);
  if (fcfs != nullptr && !std::isnan(fcfs->mean.value)) {
    lines.add("", "/ fcfs", row, true,
              [](const PolicyEntry& entry) { return two_decimals(entry.ratio.value); });
  }
  if (table.sources.empty()) return;
  lines.add("", "published", row, true,
            [](const PolicyEntry& entry) { return published_text(entry.published); });
  if (fcfs == nullptr || std::isnan(fcfs->published)) return;
  lines.add("", "  / fcfs", row, true, [&](const PolicyEntry& entry) {
    return two_decimals(entry.published / fcfs->published);
  });
}

Grid grid_of(const PolicyTable& table, GridFormat format) {
  Grid grid;
  grid.columns = {{"jps", ""}, {"", "", false}};
  for (const std::string& variant : table.variants)
    grid.columns.push_back({variant + (format == GridFormat::text ? " " : ""), ""});
  for (const PolicyRow& row : table.rows) add_row(grid, table, row, format);
  return grid;
}

void print_one(const PolicyTable& table, GridFormat format, std::ostream& out) {
  const std::string heading =
      table.gpu + (table.settings.empty() ? "" : ", " + table.settings) + ": " + table.metric +
      (table.unit.empty() ? "" : " [" + table.unit + ']') + ", " + table.kind;
  out << (format == GridFormat::md ? "### " : "") << terminal_text(heading) << "\n\n";
  print_grid(grid_of(table, format), format, out);
  for (const auto* notes : {&table.sources, &table.remarks}) {
    for (const std::string& note : *notes) {
      out << '\n' << (notes == &table.sources ? "published: " : "") << terminal_text(note) << '\n';
    }
  }
}

Grid long_grid(std::span<const PolicyTable> tables) {
  Grid grid;
  for (const char* name :
       {"gpu", "settings", "backend", "kind", "jps", "variant", "metric", "unit", "repeats", "mean",
        "half_interval95", "ratio_to_fcfs", "standing", "published"})
    grid.columns.push_back({name, ""});
  for (const PolicyTable& table : tables) {
    for (const PolicyRow& row : table.rows) {
      for (const PolicyEntry& entry : row.entries) {
        grid.rows.push_back({table.gpu, table.settings, table.backend, table.kind, row.jps,
                             entry.variant, table.metric, table.unit,
                             std::to_string(entry.mean.repeats), exact_number(entry.mean.value),
                             exact_number(half_interval(entry)), exact_number(entry.ratio.value),
                             std::string(name_of(entry.standing)), exact_number(entry.published)});
      }
    }
  }
  return grid;
}

}  // namespace

void print_policy_tables(std::span<const PolicyTable> tables, GridFormat format,
                         std::ostream& out) {
  if (format == GridFormat::csv) return print_grid(long_grid(tables), format, out);
  const char* gap = "";
  for (const PolicyTable& table : tables) {
    out << gap;
    print_one(table, format, out);
    gap = "\n";
  }
}

}  // namespace analysis
