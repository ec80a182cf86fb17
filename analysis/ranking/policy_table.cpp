#include "analysis/ranking/policy_table.hpp"

#include <cmath>

#include "analysis/ranking/sentences.hpp"
#include "analysis/text/escape.hpp"

namespace analysis {
namespace {

std::string unit_of(const ConfiguredCell& cell, const std::string& name) {
  const sweep::Figure* found = cell.find_figure(name);
  return found == nullptr ? "" : found->unit.text();
}

/// Whether the cell's policy is told the future that was recorded: a key of it is "oracle".
bool is_reference(const ConfiguredCell& cell) {
  return std::ranges::any_of(cell.config, [](const auto& setting) {
    const auto* text = std::get_if<std::string>(&setting.second);
    return text != nullptr && *text == "oracle" && setting.first.text().starts_with("policy.");
  });
}

double mean_bound(const PolicyCells& policy, const CellBounds& bounds) {
  double sum = 0;
  for (const ConfiguredCell* cell : policy.repeats) {
    const auto bound = bounds.find(cell->record->key);
    if (bound == bounds.end()) return sweep::kNotObserved;
    sum += bound->second;
  }
  return sum / static_cast<double>(policy.repeats.size());
}

void add_bounds(const RateRow& row, const CellBounds& bounds, std::vector<Rated>& rated) {
  double best = sweep::kNotObserved;
  for (const Rated& each : rated)
    if (!each.reference) best = std::fmin(best, each.mean.value);
  for (std::size_t i = 0; i < rated.size(); ++i) {
    rated[i].bound = mean_bound(row.policies[i], bounds);
    rated[i].best = best;
  }
}

using Texts = std::vector<std::string>;

double half_interval(const Rated& entry) {
  return (entry.mean.interval.high - entry.mean.interval.low) / 2;
}

/// The published value, with at least one decimal.
std::string published_text(double value) {
  if (std::isnan(value)) return "-";
  const std::string text = exact_number(value);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

/// The mean, with its mark in a text as wide as the widest mark of the table.
std::string value_text(const Rated& entry, std::size_t width) {
  std::string text = four_digits(entry.mean.value);
  if (!std::isnan(entry.mean.interval.low)) text += " +- " + four_digits(half_interval(entry));
  return text + entry.mark + std::string(width - entry.mark.size(), ' ');
}

bool has_ratio(const Rated& entry) { return !std::isnan(entry.over_fcfs.value); }
bool has_bound(const Rated& entry) { return !std::isnan(entry.bound); }
bool is_bound_reference(const Rated& entry) { return entry.reference && has_bound(entry); }

std::vector<Rated> entries_of(std::span<const PolicyTable> tables) {
  std::vector<Rated> entries;
  for (const PolicyTable& table : tables)
    for (const PolicyTableRow& row : table.rows)
      entries.insert(entries.end(), row.entries.begin(), row.entries.end());
  return entries;
}

bool has_tail(const PolicyTableRow& row, std::size_t figure) {
  return std::ranges::any_of(row.tails,
                             [&](const Tail& each) { return !std::isnan(each.values[figure].s); });
}

void add_row(Grid& grid, const PolicyTable& table, const PolicyTableRow& row, std::size_t width) {
  const std::string blanks(width, ' ');  // for the marks that only means have
  const auto add = [&](const std::string& what, auto text_of) {
    const bool is_mean = what == "mean";
    Texts texts = {is_mean ? row.jps : "", what};
    for (const Rated& entry : row.entries)
      texts.push_back(text_of(entry) + (is_mean ? "" : blanks));
    grid.rows.push_back(std::move(texts));
  };
  add("mean", [&](const Rated& entry) { return value_text(entry, width); });
  if (std::ranges::any_of(row.entries, has_ratio))
    add("/ fcfs", [](const Rated& entry) { return two_decimals(entry.over_fcfs.value); });
  for (std::size_t i = 0; i < kTailFigures.size(); ++i)
    if (has_tail(row, i) && kTailFigures[i].figure != table.figure)
      add("p99 " + std::string(kTailFigures[i].name), [&](const Rated& entry) {
        const auto at = static_cast<std::size_t>(&entry - row.entries.data());
        return four_digits(row.tails[at].values[i].s);
      });
  if (std::ranges::any_of(row.entries, has_bound)) {
    add(bound_name(table.place), [](const Rated& each) { return two_decimals(each.bound); });
    add("  / bound", [](const Rated& each) { return two_decimals(each.certified_regret()); });
    add("  / best", [](const Rated& each) { return two_decimals(each.regret_to_best()); });
  }
  if (table.sources.empty()) return;
  add("published", [](const Rated& entry) { return published_text(entry.published); });
  const auto column = std::ranges::find(table.variants, "fcfs") - table.variants.begin();
  const double fcfs = std::cmp_less(column, row.entries.size())
                          ? row.entries[static_cast<std::size_t>(column)].published
                          : sweep::kNotObserved;
  if (std::isnan(fcfs)) return;
  add("  / fcfs", [&](const Rated& entry) { return two_decimals(entry.published / fcfs); });
}

std::size_t mark_width(const PolicyTable& table) {
  std::size_t width = 0;
  for (const Rated& entry : entries_of({&table, 1})) width = std::max(width, entry.mark.size());
  return width;
}

std::string heading_of(const PolicyTable& table, std::size_t variant) {
  const std::string& name = table.variants[variant];
  for (const PolicyTableRow& row : table.rows)
    if (const std::string marked = name_beside_bounds(name, row.entries[variant]); marked != name)
      return marked;
  return name;
}

void print_one(const PolicyTable& table, std::ostream& out) {
  const std::string heading = table.place.whole_name() + ": " + table.figure +
                              (table.unit.empty() ? "" : " [" + table.unit + ']') + ", " +
                              table.place.kind;
  out << terminal_text(heading) << "\n\n";
  print_text(grid_of(table), out);
  for (const auto* notes : {&table.sources, &table.remarks})
    for (const std::string& note : *notes)
      out << '\n' << (notes == &table.sources ? "published: " : "") << terminal_text(note) << '\n';
}

Grid long_grid(std::span<const PolicyTable> tables) {
  Grid grid;
  for (const char* name : {"gpu", "settings", "kind", "jps", "variant", "metric", "unit", "repeats",
                           "mean", "half_interval95", "ratio_to_fcfs", "standing", "published"})
    grid.columns.push_back({name, ""});
  for (const TailFigure& tail : kTailFigures)
    grid.columns.push_back({std::string(tail.figure), ""});
  const bool bounds = std::ranges::any_of(entries_of(tables), has_bound);
  for (const char* name : {"bound", "certified_regret", "regret_to_best", "reference"})
    if (bounds) grid.columns.push_back({name, ""});
  for (const PolicyTable& table : tables) {
    for (const PolicyTableRow& row : table.rows) {
      for (std::size_t i = 0; i < row.entries.size(); ++i) {
        const Rated& entry = row.entries[i];
        grid.rows.push_back(
            {table.place.gpu, table.place.settings, table.place.kind, row.jps, table.variants[i],
             table.figure, table.unit, std::to_string(entry.mean.repeats),
             exact_number(entry.mean.value), exact_number(half_interval(entry)),
             exact_number(entry.over_fcfs.value), entry.standing, exact_number(entry.published)});
        for (const Tail::Value& value : row.tails[i].values)
          grid.rows.back().push_back(exact_number(value.s));
        for (const double value : {entry.bound, entry.certified_regret(), entry.regret_to_best()})
          if (bounds) grid.rows.back().push_back(exact_number(value));
        if (bounds) grid.rows.back().push_back(entry.reference ? "yes" : "no");
      }
    }
  }
  return grid;
}

void print_legend(std::span<const PolicyTable> tables, std::ostream& out) {
  const std::vector<Rated> entries = entries_of(tables);
  std::size_t most = 0;
  std::string marks;
  for (const Rated& entry : entries) {
    most = std::max(most, entry.mean.repeats);
    marks += entry.mark;
  }
  const auto has = [&](char mark) { return marks.find(mark) != std::string::npos; };
  out << '\n';
  if (has('*') || has('=') || has('?')) {
    out << "* best at its rate; = best, with others less than 1 % apart";
    if (has('?')) out << "; ? undecided: the repeats do not tell it from the best (Holm, 5 %)";
    if (has('G')) out << "; *NG: best with N GiB of host memory";
    out << '\n';
  }
  if (std::ranges::any_of(entries, has_bound))
    out << "/ bound: the policy's regret is at most this (certified); / best: it is at least this, "
           "since the best policy here need not be optimal\n";
  if (std::ranges::any_of(entries, is_bound_reference))
    out << "(reference): knows the future; / best is over the best of the others, below 1 where a "
           "reference is faster\n";
  if (most < kFewestRepeats) {
    out << "no interval (+-) below three repeats: set n = 3 or more in [repeat]\n";
  } else {
    out << "+- 95 % interval of the mean over the seeds (Student's t, unadjusted)\n";
    if (std::ranges::any_of(entries, has_ratio)) out << "/ fcfs: geometric mean over equal seeds\n";
  }
}

struct RowsOfPlace {
  Place place;
  std::vector<const RateRow*> rows;
};

PolicyTable make_table(const RowsOfPlace& of, const std::string& figure,
                       std::span<const Published> published, const CellBounds& bounds) {
  const auto& [place, rows] = of;
  PolicyTable table;
  table.place = place;
  table.figure = figure;
  for (const RateRow* row : rows)
    for (const PolicyCells& policy : row->policies) add_once(table.variants, policy.variant);
  for (const RateRow* row : rows) {
    const std::vector<Rated> rated = rate(*row, figure, published, table.sources, bounds);
    PolicyTableRow& own = table.rows.emplace_back();
    own.jps = row->jps;
    for (const std::string& variant : table.variants) {
      const PolicyCells* policy = row->find(variant);
      own.entries.push_back(policy == nullptr
                                ? Rated{}
                                : rated[static_cast<std::size_t>(policy - &row->policies[0])]);
      own.tails.push_back(policy == nullptr ? Tail{} : tail_of(*row, *policy));
      if (table.unit.empty()) table.unit = own.entries.back().unit;
    }
    for (const std::string& remark : remarks_on(*row)) add_once(table.remarks, remark);
    const std::string bracket = bracket_text(table.place, row->jps, rated);
    if (!bracket.empty()) table.remarks.push_back(bracket);
  }
  return table;
}

}  // namespace

std::vector<Rated> rate(const RateRow& row, const std::string& figure,
                        std::span<const Published> published, std::vector<std::string>& sources,
                        const CellBounds& bounds) {
  const std::vector<Contender> contenders = contenders_of(row, figure);
  const std::vector<Decision> decisions = decide(contenders, direction_of(figure));
  const PolicyCells* fcfs = row.fcfs();
  std::vector<Rated> rated(contenders.size());
  for (std::size_t i = 0; i < rated.size(); ++i) {
    const ConfiguredCell& cell = *row.policies[i].repeats.front();
    rated[i].unit = unit_of(cell, figure);
    rated[i].reference = is_reference(cell);
    rated[i].mean = mean_of(contenders[i].values);
    if (fcfs != nullptr)
      rated[i].over_fcfs = ratio_of(contenders[i].values, by_seed(fcfs->repeats, figure));
    const auto [text, mark] = texts_of(decisions, i);
    rated[i].standing = text;
    rated[i].mark = mark;
    for (const Published& each : published) {
      const double value = each.value(cell, figure);
      if (std::isnan(value)) continue;
      rated[i].published = value;
      add_once(sources, each.source);
    }
  }
  if (figure == kAnswerFigure && !bounds.empty()) add_bounds(row, bounds, rated);
  return rated;
}

std::string bound_name(const Place& place) {
  return place.kind.starts_with("MODELLED") ? "bound" : "MODELLED bound";
}

std::string bracket_text(const Place& place, const std::string& jps, std::span<const Rated> rated) {
  // Cells of a row have one bound unless their policies change the limits of a step.
  double least = sweep::kNotObserved, best = least, best_policy = least;
  for (const Rated& each : rated) {
    best = std::fmin(best, each.mean.value);
    if (std::isnan(each.bound) || std::isnan(each.mean.value)) continue;
    least = std::fmin(least, each.bound);
    best_policy = each.best;
  }
  if (std::isnan(least)) return {};
  std::string text = jps == "-" ? "the optimum" : "at " + jps + " jobs/s the optimum";
  text += " is in [" + two_decimals(least) + ", " + two_decimals(best) + "] s";
  if (best != best_policy) text += ", " + two_decimals(best) + " by a reference";
  if (bound_name(place) != "bound") text += " by a " + bound_name(place);
  return text + (best > 2 * least ? ", wider than a factor of two" : "");
}

std::string name_beside_bounds(const std::string& variant, const Rated& rated) {
  return rated.reference && !std::isnan(rated.bound) ? variant + " (reference)" : variant;
}

Grid grid_of(const PolicyTable& table) {
  const std::size_t width = mark_width(table);
  Grid grid;
  grid.columns = {{"jps", ""}, {"", "", false}};
  for (std::size_t i = 0; i < table.variants.size(); ++i)
    grid.columns.push_back({heading_of(table, i) + std::string(width, ' '), ""});
  for (const PolicyTableRow& row : table.rows) add_row(grid, table, row, width);
  return grid;
}

void print_policy_tables(std::span<const PolicyTable> tables, GridFormat format,
                         std::ostream& out) {
  if (format == GridFormat::csv) return print_grid(long_grid(tables), format, out);
  const char* gap = "";
  for (const PolicyTable& table : tables) {
    out << gap;
    print_one(table, out);
    gap = "\n";
  }
  print_legend(tables, out);
}

std::vector<PolicyTable> policy_tables(std::span<const RateRow> rows, const std::string& figure,
                                       std::span<const Published> published,
                                       const CellBounds& bounds) {
  std::vector<RowsOfPlace> places;
  for (const RateRow& row : rows)
    item_with(places, &RowsOfPlace::place, row.place).rows.push_back(&row);
  return mapped(places,
                [&](const RowsOfPlace& own) { return make_table(own, figure, published, bounds); });
}

}  // namespace analysis
