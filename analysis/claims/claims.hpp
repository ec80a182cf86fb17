#pragma once
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "analysis/claims/judge.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {

// For tables: ">= 3.3", "3.9 .. 4.1" or "-", and "+12 %", "0" or "-".
std::string limits_text(const ClaimPoint& point);
std::string interval_text(const Interval& interval);
std::string distance_text(const ClaimRow& row);

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
/// file of the same name. Throws what ArchiveReader throws, and sweep::SpecError for an unknown
/// set, which lists the known ones.
ClaimReport run_claims(const std::vector<std::string>& archives, const std::string& set,
                       const std::filesystem::path& folder);

/// Prints the claims' texts below the table, or everything in columns as CSV.
void print_claims(const ClaimReport& report, GridFormat format, std::ostream& out);

}  // namespace analysis
