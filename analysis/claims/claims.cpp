#include <cmath>
#include <iterator>

#include "analysis/claims/claims.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/list.hpp"

namespace analysis {
namespace {

namespace fs = std::filesystem;

std::string limits_text(const ClaimPoint& point) {
  if (point.low == point.high) return four_digits(point.low);
  if (std::isinf(point.low)) return "<= " + four_digits(point.high);
  if (std::isinf(point.high)) return ">= " + four_digits(point.low);
  return four_digits(point.low) + " .. " + four_digits(point.high);
}

std::string distance_text(const ClaimRow& row) {
  const double distance = distance_of(row);
  if (std::isnan(distance)) return "-";
  if (distance == 0) return "0";
  return (distance > 0 ? "+" : "") + in_percent(distance) + " %";
}

std::string direction_text(std::optional<Verdict> direction) {
  return direction ? std::string(verdict_name(*direction)) : "";
}

using Rows = std::vector<ClaimRow>;

Grid grid_for_people(const Rows& rows) {
  Grid grid;
  grid.columns = {{"claim", "", false},   {"verdict", "", false}, {"direction", "", false},
                  {"ours", ""},           {"95 %", "", false},    {"published", ""},
                  {"claimed", "", false}, {"off by", ""},         {"repeats", ""},
                  {"says", "", false},    {"because", "", false}};
  for (const ClaimRow& row : rows) {
    const Claim& claim = *row.claim;
    const std::string at = place_of(row);
    grid.rows.push_back({claim.id + (at.empty() ? "" : " at " + at),
                         std::string(verdict_name(row.verdict)), direction_text(row.direction),
                         four_digits(row.ours.value), interval_text(row.ours.interval),
                         four_digits(row.point->published), limits_text(*row.point),
                         distance_text(row), std::to_string(row.ours.repeats),
                         claim.says + " (" + claim.metric + "; " + claim.source + ')', row.reason});
  }
  return grid;
}

Grid grid_for_programs(const ClaimReport& report) {
  Grid grid;
  for (const char* name : {"set", "claim", "at", "verdict", "direction", "ours", "low95", "high95",
                           "published", "claimed_low", "claimed_high", "repeats", "figures",
                           "because", "metric", "says", "source", "distance"})
    grid.columns.push_back({name, ""});
  const auto limit = [](double value) { return std::isinf(value) ? "" : exact_number(value); };
  for (const ClaimRow& row : report.rows) {
    const Claim& claim = *row.claim;
    const ClaimPoint& point = *row.point;
    grid.rows.push_back({claim.set, claim.id, place_of(row), std::string(verdict_name(row.verdict)),
                         direction_text(row.direction), exact_number(row.ours.value),
                         exact_number(row.ours.interval.low), exact_number(row.ours.interval.high),
                         exact_number(point.published), limit(point.low), limit(point.high),
                         std::to_string(row.ours.repeats), row.kind, row.reason, claim.metric,
                         claim.says, claim.source, exact_number(distance_of(row))});
  }
  return grid;
}

/// "2 reproduced, 1 undecided (claims, 5 checks)". A claim with a point without results stays open.
std::string verdicts_text(const Rows& of_kind, const Rows& without_result) {
  std::map<const Claim*, Rows> by_claim;
  for (const ClaimRow& row : of_kind) by_claim[row.claim].push_back(row);
  for (const ClaimRow& row : without_result)
    if (const auto known = by_claim.find(row.claim); known != by_claim.end())
      known->second.push_back(row);
  std::map<Verdict, int> counts;
  for (const auto& [claim, rows] : by_claim) ++counts[overall(rows)];
  const auto text = [](const auto& each) {
    return std::to_string(each.second) + ' ' + std::string(verdict_name(each.first));
  };
  return sweep::joined(mapped(counts, text)) + " (claims, " + std::to_string(of_kind.size()) +
         " check" + (of_kind.size() == 1 ? ")" : "s)");
}

/// By kind, since modelled and measured figures, and those of different cost models, never share a
/// table. Rows without a result come last.
std::vector<ClaimTable> tables_of_set(const Rows& all, const std::string& set) {
  std::vector<ClaimTable> tables;
  Rows without_result;
  for (const ClaimRow& row : all) {
    if (row.claim->set != set) continue;
    Rows& rows =
        row.kind.empty() ? without_result : item_with(tables, &ClaimTable::kind, row.kind).rows;
    rows.push_back(row);
  }
  if (!without_result.empty()) tables.push_back({set, "without results", without_result, {}, ""});
  for (ClaimTable& table : tables) {
    table.set = set;
    sort_by_distance(table.rows);
    table.grid = grid_for_people(table.rows);
    table.verdicts = verdicts_text(table.rows, without_result);
  }
  return tables;
}

ClaimReport claims_in(const fs::path& folder, const std::string& set) {
  const std::vector<std::string> sets = claim_sets(folder);
  if (!set.empty() && std::ranges::find(sets, set) == sets.end())
    throw sweep::SpecError("no set of claims is called " + set +
                           "; there are: " + sweep::joined(sets));
  ClaimReport report;
  for (const std::string& name : sets) {
    if (!set.empty() && name != set) continue;
    // Only values of the set's own source: others ran the same policies differently.
    std::vector<Published> published;
    const fs::path table = folder / "published" / (name + ".toml");
    if (fs::exists(table)) published.push_back(load_published(table.string()));
    for (const Published& each : published) report.sources.push_back(each.source);
    for (Claim& claim : load_claims((folder / "claims" / (name + ".toml")).string(), published))
      report.claims.push_back(std::move(claim));
  }
  return report;
}

ClaimReport judged(ClaimReport report, std::deque<sweep::ArchiveReader>& archives) {
  std::vector<ConfiguredCell> cells;
  for (sweep::ArchiveReader& reader : archives)
    std::ranges::move(cells_of(reader), std::back_inserter(cells));
  report.rows = judge_claims(report.claims, cells);
  return report;
}

}  // namespace

std::vector<std::string> claim_sets(const fs::path& folder) {
  return mapped(toml_files(folder / "claims"),
                [](const fs::path& path) { return path.stem().string(); });
}

ClaimReport run_claims(std::deque<sweep::ArchiveReader>& archives, const std::string& set,
                       const fs::path& folder) {
  return judged(claims_in(folder, set), archives);
}

ClaimReport run_claims(const std::vector<std::string>& archives, const std::string& set,
                       const fs::path& folder) {
  ClaimReport report = claims_in(folder, set);  // what is wrong with it, before archives are opened
  std::deque<sweep::ArchiveReader> readers(archives.begin(), archives.end());
  return judged(std::move(report), readers);
}

std::vector<ClaimTable> claim_tables(const ClaimReport& report) {
  std::vector<std::string> sets;
  for (const ClaimRow& row : report.rows) add_once(sets, row.claim->set);
  std::vector<ClaimTable> tables;
  for (const std::string& set : sets)
    std::ranges::move(tables_of_set(report.rows, set), std::back_inserter(tables));
  return tables;
}

void print_claims(const ClaimReport& report, GridFormat format, std::ostream& out) {
  if (format == GridFormat::csv) return print_grid(grid_for_programs(report), format, out);
  const std::vector<ClaimTable> tables = claim_tables(report);
  const char* gap = "";
  std::vector<std::string> unconcerned;
  for (const ClaimTable& table : tables) {
    if (std::ranges::count(tables, table.set, &ClaimTable::set) == 1 &&
        table.rows.front().kind.empty()) {
      unconcerned.push_back(table.set);
      continue;
    }
    out << gap << terminal_text("claims of " + table.set + ", " + table.kind) << "\n\n";
    print_text(table.grid, out);
    out << '\n' << table.verdicts << '\n';
    gap = "\n";
  }
  if (!unconcerned.empty())
    out << gap << "no claim of " << terminal_text(sweep::joined(unconcerned))
        << " concerns these cells\n";
}

}  // namespace analysis
