#pragma once
#include <deque>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "analysis/claims/judge.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {

/// Claims with their verdicts over some archives.
struct ClaimReport {
  std::vector<Claim> claims;
  std::vector<ClaimRow> rows;        // point into claims: move a report, never copy it
  std::vector<std::string> sources;  // sources of the published tables
};

/// The names of the sets in `folder`/claims.
std::vector<std::string> claim_sets(const std::filesystem::path& folder);

/// Reads the claims of one set, or of all when `set` is empty; none is judged. `folder` is sweeps/
/// with its claims/ and published/; the published numbers of a set are in the file of the same
/// name. Throws sweep::SpecError for an unknown set, which lists the known ones.
ClaimReport claims_in(const std::filesystem::path& folder, const std::string& set = "");
/// Judges them over the cells of all archives. Throws what ArchiveReader throws, too.
void judge(ClaimReport& report, std::deque<sweep::ArchiveReader>& archives);
/// Both.
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
