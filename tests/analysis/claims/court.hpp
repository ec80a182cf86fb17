#pragma once
#include <string>
#include <vector>

#include "analysis/claims/claims.hpp"
#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

/// A ratio that is claimed to lie between 3 and 4.
inline constexpr const char* kRatio =
    "[R-5]\n"
    "says = \"pinning is 3.5 times as fast\"\n"
    "source = \"a page\"\n"
    "metric = \"jct_wall_mean_s\"\n"
    "where.jps = 3\n"
    "value.policy = \"fcfs\"\n"
    "base.policy = \"continuum\"\n"
    "low = 3.0\n"
    "high = 4.0\n";

inline std::vector<analysis::Claim> claims_of(
    const std::string& text, const std::vector<analysis::Published>& published = {}) {
  const support::TempDir folder;
  return analysis::load_claims(folder.write("page.toml", text), published);
}

/// What an archive says to claims that need no table.
struct Court {
  explicit Court(const std::string& text, const std::vector<analysis::Published>& published = {})
      : claims(claims_of(text, published)) {}

  /// Results of as many repeats.
  void add(const std::string& policy, const std::vector<double>& jct_s, Settings more = {}) {
    std::int64_t seed = 42;
    for (const double value : jct_s) {
      Settings settings = more;
      settings.try_emplace("policy", text(policy));
      settings.try_emplace("jps", whole(3));
      archive.add(settings, value, seed++);
    }
  }
  std::vector<analysis::ClaimRow> rows() const { return judge_claims(claims, archive.cells()); }
  analysis::ClaimRow row() const {
    const auto all = rows();
    REQUIRE(all.size() == 1);
    return all.front();
  }

  std::vector<analysis::Claim> claims;
  ArchivedCells archive;
};
