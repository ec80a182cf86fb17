#include <sstream>

#include "tests/analysis/claims/court.hpp"

using analysis::ClaimReport;
using analysis::GridFormat;
using Catch::Matchers::Contains;

TEST_CASE("tables show verdict, numbers, limits and words", "[claims]") {
  Court court(std::string(kRatio) + "published = 3.38\n");
  court.add("fcfs", {350, 340, 360});
  court.add("continuum", {100, 100, 100});
  const ClaimReport report{court.claims, court.rows(), {}};
  std::ostringstream text, csv;
  print_claims(report, GridFormat::text, text);
  print_claims(report, GridFormat::csv, csv);
  CHECK_THAT(text.str(), Contains("claims of page, MODELLED (sim)") && Contains("3.380") &&
                             Contains("3 .. 4") && Contains("1 reproduced"));
  CHECK_THAT(text.str(), Contains("3 .. 4") && Contains("pinning is 3.5 times as fast") &&
                             Contains("; a page)"));
  CHECK_THAT(csv.str(), Contains("set,claim,at,verdict,direction,") &&
                            Contains("page,R-5,,reproduced,reproduced,3.499") &&
                            Contains(",3.38,3,4,3,"));
}

TEST_CASE("what is furthest from its text comes first, and what has no number last", "[claims]") {
  const std::string says = "\nsource = \"y\"\nwhere.policy = \"fcfs\"\n";
  Court court("[IN]\nsays = \"within\"\nmetric = \"jct_wall_mean_s\"\nlow = 50" + says +
              "[NONE]\nsays = \"unknown\"\nmetric = \"late_p99_s\"\nlow = 50" + says +
              "[NEAR]\nsays = \"a little\"\nmetric = \"jct_wall_mean_s\"\nhigh = 80" + says +
              "[FAR]\nsays = \"by half\"\nmetric = \"jct_wall_mean_s\"\nlow = 200" + says);
  court.add("fcfs", {90, 100, 110});
  auto rows = court.rows();
  sort_by_distance(rows);
  std::string order;
  for (const analysis::ClaimRow& row : rows) order += row.claim->id + ' ';
  CHECK(order == "FAR NEAR IN NONE ");
  std::ostringstream out;
  print_claims({court.claims, court.rows(), {}}, GridFormat::text, out);
  const std::string text = out.str();
  CHECK(text.find("by half") < text.find("a little"));
  CHECK(text.find("a little") < text.find("within"));
  CHECK_THAT(text, Contains("1 reproduced, 1 not reproduced, 1 undecided (claims, 3 checks)"));
}

TEST_CASE("sets that no cell concerns are one line, the last", "[claims]") {
  Court court(
      "[A]\nsays = \"x\"\nsource = \"y\"\nmetric = \"jct_wall_mean_s\"\nwhere.policy = \"fcfs\"\n"
      "low = 99\nhigh = 101\n[B]\nsays = \"x\"\nsource = \"y\"\nmetric = \"jct_wall_mean_s\"\n"
      "where.policy = \"fcfs\"\nlow = 50\n");
  court.add("fcfs", {90, 100, 110});
  const Court empty(kRatio);
  const ClaimReport none{empty.claims, empty.rows(), {}};
  std::ostringstream line;
  print_claims(none, GridFormat::text, line);
  CHECK(line.str() == "no claim of page concerns these cells\n");
  Court other(kRatio);
  other.claims.front().set = "book";
  for (analysis::Claim& claim : court.claims) claim.set = "judged";
  auto rows = empty.rows();
  for (const auto& more : {other.rows(), court.rows()})
    rows.insert(rows.end(), more.begin(), more.end());
  std::ostringstream all;
  print_claims({{}, rows, {}}, GridFormat::text, all);
  CHECK_THAT(all.str(), Catch::EndsWith("\n\nno claim of page, book concerns these cells\n"));
}

TEST_CASE("modelled and measured figures have tables of their own, each with its verdicts",
          "[claims]") {
  Court court(std::string(kRatio) + "at.now.where.model = \"llama-3.1-8b\"\n" +
              "at.never.where.model = \"opt-13b\"\n");
  for (const char* backend : {"sim", "cuda"}) {
    court.add("fcfs", {350, 350, 350}, {{"backend", text(backend)}});
    court.add("continuum", {100, 100, 100}, {{"backend", text(backend)}});
  }
  std::ostringstream out;
  print_claims({court.claims, court.rows(), {}}, GridFormat::text, out);
  const std::string text = out.str();
  const auto cuda = text.find("claims of page, MEASURED (cuda)"),
             sim = text.find("claims of page, MODELLED (sim)"),
             none = text.find("claims of page, without results");
  CHECK((cuda < sim && sim < none && none != std::string::npos));
  const std::string modelled = text.substr(sim, none - sim);
  CHECK_THAT(modelled, Contains("now") && !Contains("never "));
  CHECK_THAT(modelled, Contains("now  reproduced"));
  CHECK_THAT(modelled, Contains("1 undecided (claims, 1 check)"));  // a point has no result
}
