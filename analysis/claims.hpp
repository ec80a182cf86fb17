#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare_config.hpp"
#include "analysis/export_grid.hpp"
#include "analysis/policy_table_published.hpp"
#include "analysis/statistics.hpp"

namespace analysis {

/// Cells that have one of the values listed for every key, as they are shown; "-" stands for a key
/// that a cell lacks.
using CellFilter = std::map<std::string, std::vector<std::string>>;

bool matches(const ConfiguredCell& cell, const CellFilter& filter);

/// One number of a claim: the metric of some cells, or its ratio to that of others.
struct ClaimPoint {
  std::string name;  // "jps-3"; empty in a claim of a single number
  CellFilter cells, base;
  std::vector<std::string> varied;         // keys in which `cells` and `base` differ by intention
  bool is_ratio = false;                   // to the metric of `base`
  std::size_t pool_size = 0;               // cells that a pool must have; 0: any number
  double published = sweep::kNotObserved;  // the same number as the source has it
  double low = -std::numeric_limits<double>::infinity();  // the claim holds between these, both
  double high = std::numeric_limits<double>::infinity();  // included
};

/// Something that a publication states and that archived cells can decide.
struct Claim {
  std::string id, set;
  std::string says, source;
  std::string metric;       // see claims_metrics.hpp
  std::string experiment;   // of sweeps/experiments, that runs the cells; may be empty
  bool pooled = false;      // the metric is one of all matching cells of a repeat together
  std::size_t repeats = 3;  // that a verdict needs; 1 for what no arrival can change
  CellFilter circular;      // cells whose cost model takes the claimed quantity as an input
  std::vector<ClaimPoint> points;
};

/// Reads a file of sweeps/claims, in the order written. What a point does not publish itself is
/// looked up in `published`. Throws sweep::SpecError.
std::vector<Claim> load_claims(const std::string& path, std::span<const Published> published);

enum class Verdict : std::uint8_t {
  confirmed,  // the interval of the number lies within the claimed limits
  refuted,    // it lies outside
  undecided,  // it crosses a limit, or there are too few repeats or no cells
  circular,   // the number was put into the cost model
};
std::string_view verdict_name(Verdict verdict);

/// A claim's number as the archive has it.
struct ClaimRow {
  const Claim* claim;  // borrowed
  const ClaimPoint* point;
  std::string kind;  // "MODELLED (sim, published)", "MEASURED (cuda)"; empty without cells
  Verdict verdict = Verdict::undecided;
  std::string reason{};  // of any verdict but confirmed
  double ours = sweep::kNotObserved;
  Interval interval{sweep::kNotObserved, sweep::kNotObserved};  // 95 %; NaN for a single repeat
  std::size_t repeats = 0;
  std::string card{};  // of its cells, where the claim is also decided for others than its own
};

/// The point, and the card if it is not the publication's: "16-gb", "16-gb on h200-141gb".
std::string place_of(const ClaimRow& row);

/// A table of a cell, e.g. "steps".
using LoadTable = std::function<sweep::Table(const ConfiguredCell&, std::string_view table)>;

/// A row per point, kind of figures and card that the cells offer; one without figures for a point
/// of which no cell has a result. Cards are told apart where where.gpu names several, the
/// publication's first, and the claim is not pooled. Cells that appear twice count once.
std::vector<ClaimRow> judge_claims(std::span<const Claim> claims,
                                   std::span<const ConfiguredCell> cells, const LoadTable& load);

/// All rows of a claim and kind together: refuted if one is, else undecided if one is, else
/// circular if one is.
Verdict overall(std::span<const ClaimRow> rows);

/// Claims with their verdicts over some archives.
struct ClaimReport {
  std::vector<Claim> claims;
  std::vector<ClaimRow> rows;        // point into claims: move a report, never copy it
  std::vector<std::string> sources;  // of published tables
};

/// The sets that `folder`/claims holds, by name.
std::vector<std::string> claim_sets(const std::filesystem::path& folder);

/// Judges the claims of one set, or of all when `set` is empty, over the cells of all archives.
/// `folder` is sweeps/ with its claims/ and published/; the published numbers of a set are those in
/// the file of the same name. Throws sweep::SpecError for an unknown set
/// (naming those there are) and what ArchiveReader throws.
ClaimReport run_claims(const std::vector<std::string>& archives, const std::string& set,
                       const std::filesystem::path& folder);

/// For people with the claims' words below the table; as CSV everything in columns.
void print_claims(const ClaimReport& report, GridFormat format, std::ostream& out);

}  // namespace analysis
