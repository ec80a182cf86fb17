#pragma once
#include <cstdint>
#include <deque>
#include <filesystem>
#include <iosfwd>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/claims/metrics.hpp"
#include "analysis/compare/config.hpp"
#include "analysis/compare/estimate.hpp"
#include "analysis/compare/published.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {

/// Selects cells: for every key, the listed values as texts, one of which a cell must have. "-"
/// matches a cell that lacks the key.
using CellFilter = std::map<std::string, std::vector<std::string>>;

bool matches(const ConfiguredCell& cell, const CellFilter& filter);

/// One number of a claim: the metric of some cells, its ratio to the metric of others, or the share
/// of what these gain over a third kind.
struct ClaimPoint {
  std::string name;  // "jps-3"; empty in a claim with a single number
  CellFilter cells, base;
  CellFilter from;  // not empty: the number is what `cells` gain over these, by what `base` does
  std::vector<std::string> varied;         // keys in which `cells`, `base` and `from` may differ
  bool is_ratio = false;                   // divide by the metric of `base`
  std::size_t group_size = 0;              // cells that a group must have; 0: any number
  double published = sweep::kNotObserved;  // the same number in the source
  double low = -std::numeric_limits<double>::infinity();  // the claim holds from low to high,
  double high = std::numeric_limits<double>::infinity();  // inclusive
};

/// A statement of a publication that archived cells reproduce or not.
struct Claim {
  std::string id, set;
  std::string says, source;
  std::string metric;       // see metrics.hpp
  std::string experiment;   // the file of sweeps/experiments that runs the cells; may be empty
  bool pooled = false;      // compute the metric over all matching cells of a repeat together
  std::size_t repeats = 3;  // needed for a verdict; 1 if arrivals do not affect the number
  std::string draws;        // the axis whose values are the repeats; empty: the seeds of arrivals
  std::string own_numbers;  // of the source that contradict what it says, and where it has them
  CellFilter assumed;       // cells with a cost model that takes the claimed quantity as input
  std::vector<ClaimPoint> points;
};

/// Reads a file of sweeps/claims, in the order written. If a point has no published value, looks it
/// up in `published`. Throws sweep::SpecError.
std::vector<Claim> load_claims(const std::string& path, std::span<const Published> published);

enum class Verdict : std::uint8_t {
  reproduced,      // the interval of the number lies within the claimed limits
  not_reproduced,  // it lies outside
  undecided,       // it crosses a limit, or there are too few repeats or no cells
  assumed,         // the number follows from an input of the model
  refuted,         // the source's own number lies outside, in a claim with own_numbers
};
std::string_view verdict_name(Verdict verdict);

/// A claim's number in the archive, and the verdict.
struct ClaimRow {
  const Claim* claim;  // borrowed
  const ClaimPoint* point;
  std::string kind;  // "MODELLED (sim, published)", "MEASURED (cuda)"; empty without cells
  Verdict verdict = Verdict::undecided;
  /// Whether a ratio that is claimed to lie above or below 1 does, whatever its size.
  std::optional<Verdict> direction{};
  std::string reason{};      // set unless reproduced
  bool lacks_cells = false;  // no cells match; other rows without a number have cells that do
  Estimate ours{};
  std::string card{};                // the card of its cells, if it is not the publication's
  std::vector<std::string> cells{};  // the keys of those that the number is of
};

/// How far the number is from what the text says, by the limit that it misses: 0.1 if it is 10 %
/// above, and the number itself if the limit is 0. 0 within the limits, NaN without a number.
double distance_of(const ClaimRow& row);

/// The rows that are furthest from their texts first, and those without a number last.
void sort_by_distance(std::vector<ClaimRow>& rows);

/// The point, and the card if it is not the publication's: "16-gb", "16-gb on h200-141gb".
std::string place_of(const ClaimRow& row);

/// A row per point, kind of figures and card among the cells. A point without any result has one
/// row without figures. Cards have separate rows if where.gpu names several, with the publication's
/// first, and the claim is not pooled. Cells that appear twice count once.
std::vector<ClaimRow> judge_claims(std::span<const Claim> claims,
                                   std::span<const ConfiguredCell> cells);

/// The verdict over all rows of a claim and kind: refuted if one is, else not reproduced if one is,
/// else undecided if one is, else assumed if one is, else reproduced.
Verdict overall(std::span<const ClaimRow> rows);

/// Claims with their verdicts over some archives.
struct ClaimReport {
  std::vector<Claim> claims;
  std::vector<ClaimRow> rows;        // point into claims: move a report, never copy it
  std::vector<std::string> sources;  // sources of the published tables
};

/// The names of the sets in `folder`/claims.
std::vector<std::string> claim_sets(const std::filesystem::path& folder);

/// Judges the claims of one set, or of all when `set` is empty, over the cells of all archives.
/// `folder` is sweeps/ with its claims/ and published/; the published numbers of a set are in the
/// file of the same name. Throws sweep::SpecError for an unknown set, which lists the known ones,
/// and what ArchiveReader throws.
ClaimReport run_claims(std::deque<sweep::ArchiveReader>& archives, const std::string& set,
                       const std::filesystem::path& folder);
ClaimReport run_claims(const std::vector<std::string>& archives, const std::string& set,
                       const std::filesystem::path& folder);

/// The claims of one set over figures of one kind, the furthest from their texts first.
struct ClaimTable {
  std::string set, kind;  // "without results"
  std::vector<ClaimRow> rows;
  Grid grid;             // a line for each row
  std::string verdicts;  // "2 reproduced, 1 undecided (claims, 5 checks)"
};
/// By set, then by kind, since modelled and measured figures never share a table.
std::vector<ClaimTable> claim_tables(const ClaimReport& report);

/// Prints the tables with their verdicts, or everything in columns as CSV.
void print_claims(const ClaimReport& report, GridFormat format, std::ostream& out);

}  // namespace analysis
