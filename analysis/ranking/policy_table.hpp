#pragma once
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/published.hpp"
#include "analysis/ranking/answer.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {

/// Seconds below which no policy can bring the mean completion time of a cell, by the cell's key.
using CellBounds = std::map<std::string, double>;

/// A figure of a policy at a place and rate, beside the other policies there.
struct Rated {
  std::string unit;
  Estimate mean;
  Ratio over_fcfs;             // without values where there is no RateRow::fcfs()
  std::string standing, mark;  // StandingTexts
  double published = sweep::kNotObserved;
  bool reference = false;  // is told the future that was recorded: no policy that could be run
  // Distances of kAnswerFigure, where bounds are given.
  double bound = sweep::kNotObserved;  // mean over the repeats
  double best = sweep::kNotObserved;   // the least mean of the row without references

  double certified_regret() const { return mean.value / bound; }  // at most
  double regret_to_best() const { return mean.value / best; }     // at least; of a reference any
};

/// Rates each policy of the row, in its order. Adds the sources of the published values that it
/// gives.
std::vector<Rated> rate(const RateRow& row, const std::string& figure,
                        std::span<const Published> published, std::vector<std::string>& sources,
                        const CellBounds& bounds = {});

/// "MODELLED bound" beside what was measured, since the costs of a card are not known exactly.
std::string bound_name(const Place& place);
/// "at 3 jobs/s the optimum is in [38.00, 52.00] s", of rated policies; empty without bounds. A
/// reference has a schedule, too, so that the optimum is no greater than its mean.
std::string bracket_text(const Place& place, const std::string& jps, std::span<const Rated> rated);
/// "fcfs (reference)" beside bounds where that is what it is.
std::string name_beside_bounds(const std::string& variant, const Rated& rated);

/// The policies at one arrival rate.
struct PolicyTableRow {
  std::string jps;
  std::vector<Rated> entries;  // in the order of the table's variants; no values: no result
  std::vector<Tail> tails;     // of each entry
};

/// Arrival rates by policies at one place, in one figure.
struct PolicyTable {
  Place place;
  std::string figure, unit;
  std::vector<std::string> variants;
  std::vector<PolicyTableRow> rows;
  std::vector<std::string> sources;  // sources of the published values shown
  std::vector<std::string> remarks;  // remarks_on() the rows
};

/// Tables in the order of their first rows.
std::vector<PolicyTable> policy_tables(std::span<const RateRow> rows, const std::string& figure,
                                       std::span<const Published> published,
                                       const CellBounds& bounds = {});

/// Rates and what is told of each by policies, as print_policy_tables() prints it.
Grid grid_of(const PolicyTable& table);

/// Text has a table with a heading that says whether its figures are modelled or
/// measured, and below the last one what the marks mean; CSV has a row for each entry of all
/// tables.
void print_policy_tables(std::span<const PolicyTable> tables, GridFormat format, std::ostream& out);

}  // namespace analysis
