#include "analysis/ranking/policy_table.hpp"

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using analysis::GridFormat;
using analysis::PolicyTable;
using analysis::Published;
using Catch::Matchers::Contains;

namespace {

constexpr const char* kShipped = "sweeps/published/seeds-000.toml";

std::vector<PolicyTable> tables_of(const ArchivedCells& archive, const std::string& figure,
                                   const std::vector<Published>& published) {
  const auto cells = archive.cells();
  return policy_tables(arrange(analysis::with_results(cells)), figure, published);
}

std::vector<PolicyTable> tables_of(const ArchivedCells& archive,
                                   const std::vector<Published>& published = {}) {
  return tables_of(archive, "jct_wall_mean_s", published);
}

std::string printed(const std::vector<PolicyTable>& tables, GridFormat format = GridFormat::text) {
  std::ostringstream out;
  print_policy_tables(tables, format, out);
  return out.str();
}

/// As in the published runs.
Settings published_run(const std::string& gpu, const std::string& policy, std::int64_t jps) {
  return {{"gpu", text(gpu)},
          {"policy", text(policy)},
          {"jps", whole(jps)},
          {"workload.jobs", whole(100)},
          {"workload.gap_s", whole(1)}};
}

/// gpu,jps,variant... of the published table, where A100 stands for both cards.
std::multiset<std::string> published_values(const std::filesystem::path& csv) {
  std::multiset<std::string> values;
  std::ifstream in(csv);
  std::string line;
  for (std::getline(in, line); std::getline(in, line);) {
    std::istringstream fields(line);
    std::string gpu, jps, value;
    std::getline(fields, gpu, ',');
    std::getline(fields, jps, ',');
    for (const std::string variant : {"fcfs", "continuum", "cpu_offload-16G", "cpu_offload-128G",
                                      "lmcache-16G", "lmcache-128G"}) {
      std::getline(fields, value, ',');
      values.insert(gpu + ' ' + jps + ' ' + variant + ' ' + std::to_string(std::stod(value)));
    }
  }
  return values;
}

}  // namespace

TEST_CASE("the best policy of each rate is marked, and every policy has its ratio to fcfs") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}, {"jps", whole(1)}}, 40);
  archive.add({{"policy", text("fcfs")}, {"jps", whole(3)}}, 200);
  archive.add({{"policy", text("continuum")}, {"jps", whole(1)}}, 44);
  archive.add({{"policy", text("continuum")}, {"jps", whole(3)}}, 50);
  const std::vector<PolicyTable> tables = tables_of(archive);
  REQUIRE(tables.size() == 1);
  REQUIRE(tables[0].rows.size() == 2);
  CHECK(tables[0].rows[0].entries[0].standing == "best");
  CHECK(tables[0].rows[0].entries[1].standing.empty());
  CHECK(tables[0].rows[0].entries[1].over_fcfs.value == Approx(1.1));
  CHECK(tables[0].rows[1].entries[1].standing == "best");
  CHECK(tables[0].rows[1].entries[1].over_fcfs.value == Approx(0.25));
  CHECK_THAT(printed(tables), Contains(" 50*") && Contains("0.25") && !Contains("published"));
}

TEST_CASE("beside a bound each policy has its certified regret and that to the best known") {
  ArchivedCells archive;
  analysis::CellBounds bounds;
  for (const int seed : {42, 43}) {
    bounds[archive.add({{"policy", text("fcfs")}}, 60, seed).key] = seed - 4;  // 38 and 39
    bounds[archive.add({{"policy", text("continuum")}}, 52, seed).key] = seed - 4;
  }
  archive.add({{"policy", text("pin")}}, 55);
  const auto cells = archive.cells();
  const auto rows = arrange(analysis::with_results(cells));
  const auto tables = policy_tables(rows, "jct_wall_mean_s", {}, bounds);
  const analysis::Rated& fcfs = tables.at(0).rows.at(0).entries.at(0);
  CHECK(fcfs.bound == 38.5);
  CHECK(fcfs.certified_regret() == Approx(60 / 38.5));
  CHECK(fcfs.regret_to_best() == Approx(60.0 / 52));
  CHECK(std::isnan(tables[0].rows[0].entries[2].bound));
  CHECK_THAT(printed(tables), Contains("at 1 jobs/s the optimum is in [38.50, 52.00] s\n") &&
                                  Contains("     bound") && Contains("1.56") && Contains("1.15"));
  CHECK_THAT(printed(tables, GridFormat::csv),
             Contains("jct_wall_p99_s,bound,certified_regret,regret_to_best"));
  CHECK_THAT(printed(policy_tables(rows, "jct_wall_p99_s", {}, bounds)), !Contains("bound"));
  CHECK_THAT(printed(tables_of(archive)), !Contains("bound"));
}

TEST_CASE("a policy that knows the future is a reference, which ends the bracket and is not best") {
  ArchivedCells archive;
  analysis::CellBounds bounds;
  const auto add = [&](Settings settings, double mean_s) {
    bounds[archive.add(std::move(settings), mean_s).key] = 38;
  };
  add({{"policy", text("fcfs")}}, 60);
  add({{"policy", text("continuum")}}, 52);
  add({{"policy", text("pin")}, {"policy.estimator", text("oracle")}}, 50);
  const auto cells = archive.cells();
  const auto rows = arrange(analysis::with_results(cells));
  const auto tables = policy_tables(rows, "jct_wall_mean_s", {}, bounds);
  const auto& entries = tables.at(0).rows.at(0).entries;
  CHECK(entries.at(0).regret_to_best() == Approx(60.0 / 52));
  CHECK(entries.at(1).regret_to_best() == 1);
  CHECK(entries.at(2).regret_to_best() == Approx(50.0 / 52));
  CHECK_THAT(printed(tables),
             Contains("the optimum is in [38.00, 50.00] s, 50.00 by a reference\n") &&
                 Contains("pin (reference)") && !Contains("continuum (reference)") &&
                 Contains("(reference): knows the future"));
  CHECK_THAT(printed(tables, GridFormat::csv), Contains("regret_to_best,reference\r\n") &&
                                                   Contains(",pin,") && Contains(",yes\r\n") &&
                                                   !Contains("(reference)"));
  CHECK_THAT(printed(tables_of(archive)), !Contains("reference"));
}

TEST_CASE("beside references alone no best policy is known") {
  ArchivedCells archive;
  const auto key =
      archive.add({{"policy", text("fcfs")}, {"policy.eviction", text("oracle")}}, 60).key;
  const auto cells = archive.cells();
  const auto tables =
      policy_tables(arrange(analysis::with_results(cells)), "jct_wall_mean_s", {}, {{key, 40.0}});
  CHECK(std::isnan(tables.at(0).rows.at(0).entries.at(0).regret_to_best()));
  CHECK_THAT(printed(tables), Contains("[40.00, 60.00] s, 60.00 by a reference"));
}

TEST_CASE("beside what was measured a bound is modelled, and a wide bracket is named") {
  ArchivedCells archive;
  const auto key = archive.add({{"policy", text("fcfs")}, {"backend", text("cuda")}}, 60).key;
  const auto cells = archive.cells();
  const auto table = printed(
      policy_tables(arrange(analysis::with_results(cells)), "jct_wall_mean_s", {}, {{key, 29.0}}));
  CHECK_THAT(table,
             Contains("MODELLED bound  29.00") &&
                 Contains("[29.00, 60.00] s by a MODELLED bound, wider than a factor of two"));
}

TEST_CASE("higher is better for rates") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}}, 1).figures = {{"prefix_hit_rate", 0.3, ""}};
  archive.add({{"policy", text("continuum")}}, 1).figures = {{"prefix_hit_rate", 0.9, ""}};
  const auto tables = tables_of(archive, "prefix_hit_rate", {});
  CHECK(tables.at(0).rows.at(0).entries.at(1).standing == "best");
  CHECK(tables.at(0).rows.at(0).entries.at(0).standing.empty());
}

TEST_CASE("each backend, card and value of a further axis has its own table with a heading") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}}, 40);
  archive.add({{"policy", text("fcfs")}, {"backend", text("cuda")}}, 41);
  archive.add({{"policy", text("fcfs")}, {"gpu", text("h200-141gb")}}, 42);
  sweep::CellRecord& small =
      archive.add({{"policy", text("fcfs")}, {"engine.block_size", whole(32)}}, 43);
  small.axes.emplace_back("engine.block_size", whole(32));
  const auto tables = tables_of(archive);
  REQUIRE(tables.size() == 4);
  const std::string text = printed(tables);
  CHECK_THAT(text, Contains("h100-80gb: jct_wall_mean_s [s], MODELLED (sim"));
  CHECK_THAT(text, Contains("h100-80gb: jct_wall_mean_s [s], MEASURED (cuda)"));
  CHECK_THAT(text, Contains("h200-141gb: "));
  CHECK_THAT(text, Contains("h100-80gb, engine.block_size=32: "));
}

TEST_CASE("sizes of a host tier are columns, and what has no result is a dash") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}, {"jps", whole(1)}}, 40);
  archive.add({{"policy", text("lmcache")}, {"jps", whole(3)}, {"dram_gib", whole(16)}}, 60);
  archive.add({{"policy", text("lmcache")}, {"jps", whole(3)}, {"dram_gib", whole(128)}}, 50);
  const PolicyTable table = tables_of(archive).at(0);
  CHECK(table.variants == std::vector<std::string>{"fcfs", "lmcache-16G", "lmcache-128G"});
  CHECK(table.rows.at(0).entries.at(1).mean.repeats == 0);
  CHECK(std::isnan(table.rows.at(1).entries.at(1).over_fcfs.value));  // no fcfs at this rate
  CHECK(table.rows.at(1).entries.at(2).standing == "best");
}

TEST_CASE("a policy with a host tier that has no result yet makes no regime of its own") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}, {"jps", whole(1)}}, 40);
  archive.add({{"policy", text("continuum")}, {"jps", whole(1)}}, 50);
  archive.add({{"policy", text("lmcache")}, {"jps", whole(3)}, {"dram_gib", whole(16)}}, 60);
  const PolicyTable table = tables_of(archive).at(0);
  CHECK(table.rows.at(0).entries.at(0).mark == "*");
  CHECK(table.rows.at(0).entries.at(2).mark.empty());
}

TEST_CASE("a mark says with how much host memory a policy is best, unless it is with any") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}}, 50);
  archive.add({{"policy", text("lmcache")}, {"dram_gib", whole(16)}}, 60);
  archive.add({{"policy", text("lmcache")}, {"dram_gib", whole(128)}}, 40);
  const std::string table = printed(tables_of(archive));
  CHECK_THAT(table, Contains(" 50*16G ") && Contains(" 40*\n") &&
                        Contains("*NG: best with N GiB of host memory"));
}

TEST_CASE("a figure that is better neither way has no marks, and the legend explains none") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}}, 1).figures = {{"steps", 10, ""}};
  archive.add({{"policy", text("continuum")}}, 1).figures = {{"steps", 20, ""}};
  CHECK_THAT(printed(tables_of(archive, "steps", {})), !Contains("*") && !Contains("best"));
}

TEST_CASE("repeats are averaged, with half of the interval of the mean behind it") {
  ArchivedCells archive;
  for (std::int64_t r = 0; r < 4; ++r)
    archive.add({{"policy", text("fcfs")}}, 40 + static_cast<double>(r % 2), 42 + r);
  const PolicyTable table = tables_of(archive).at(0);
  CHECK(table.rows.at(0).entries.at(0).mean.repeats == 4);
  CHECK(table.rows.at(0).entries.at(0).mean.value == Approx(40.5));
  CHECK(table.rows.at(0).entries.at(0).mean.interval.high == Approx(40.5 + 0.918693));
  CHECK_THAT(printed({table}), Contains("40.50 +- 0.9187*"));
}

TEST_CASE("columns that differ in more than the policy carry a remark") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}, {"engine.max_num_batched_tokens", whole(2048)}}, 40);
  archive.add({{"policy", text("continuum")}, {"engine.max_num_batched_tokens", whole(8192)}}, 30);
  CHECK_THAT(printed(tables_of(archive)),
             Contains("engine.max_num_batched_tokens is 2048 for fcfs and 8192 for continuum"));
}

TEST_CASE("a published A100 value stands only beside the card that its tag names") {
  const std::vector<Published> published = {analysis::load_published(kShipped)};
  ArchivedCells archive;
  for (const std::string gpu : {"a100-40gb", "a100-80gb", "a100-sxm-40gb"})
    archive.add(published_run(gpu, "fcfs", 3), 1000);
  const auto tables = tables_of(archive, published);
  REQUIRE(tables.size() == 3);
  CHECK(tables[0].rows[0].entries[0].published == Approx(1086.5));  // tagged 40G
  CHECK(std::isnan(tables[1].rows[0].entries[0].published));
  CHECK(std::isnan(tables[2].rows[0].entries[0].published));
  CHECK_THAT(printed(tables), Contains("1086.5") && Contains("published: 72-run policy matrix"));
}

TEST_CASE("published values stand beside runs of the published workload alone") {
  const std::vector<Published> published = {analysis::load_published(kShipped)};
  ArchivedCells archive;
  archive.add(published_run("h100-80gb", "fcfs", 1), 40);
  Settings fewer = published_run("h100-80gb", "continuum", 1);
  fewer["workload.jobs"] = whole(10);
  archive.add(fewer, 40);
  const std::vector<PolicyTable> tables = tables_of(archive, published);
  REQUIRE(tables.size() == 2);
  CHECK(tables[0].place.settings == "workload.jobs=10");
  CHECK(std::isnan(tables[0].rows[0].entries[0].published));
  CHECK(tables[1].rows[0].entries[0].published == Approx(41.0));
  const auto other = tables_of(archive, "jct_turns_mean_s", published);
  CHECK(std::isnan(other.at(1).rows.at(0).entries.at(0).published));
}

TEST_CASE("the shipped values are the 72 of the published table") {
  const auto csv = support::shared_path("data/published/seed_matrix_avg_job_duration.csv");
  if (!csv) SKIP_TEST("needs the published table");
  std::multiset<std::string> shipped;
  for (const Published::Entry& entry : analysis::load_published(kShipped).entries) {
    shipped.insert(entry.gpu.substr(0, entry.gpu.find('-')) + ' ' +
                   std::to_string(static_cast<int>(entry.jps)) + ' ' + entry.variant + ' ' +
                   std::to_string(entry.value));
  }
  CHECK(shipped.size() == 72);
  CHECK(shipped == published_values(*csv));
}

TEST_CASE("an invalid file of published values is refused with the place of the error") {
  const support::TempDir folder;
  const std::string head = "source = \"s\"\nmetric = \"m\"\n";
  const auto message = [&](const std::string& text) {
    const std::string path = folder.write("p.toml", text);
    try {
      analysis::load_published(path);
    } catch (const sweep::SpecError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(message(head + "[h100-80gb]\njps-1 = { fcfs = 41.0 }\n") == "accepted");
  CHECK_THAT(message(head + "[h100-80gb]\njps-1 = { fcfs = \"x\" }\n"),
             Contains("p.toml:4:") && Contains("must be a number above 0"));
  CHECK_THAT(message(head + "[h100-80gb]\nrate-1 = { fcfs = 41.0 }\n"), Contains("card.jps-RATE"));
  CHECK_THAT(message(head + "[h100-80gb]\njps-one = { fcfs = 41.0 }\n"),
             Contains("a number behind"));
  CHECK_THAT(message("metric = \"m\"\n"), Contains("source is missing"));
}

TEST_CASE("as CSV every entry of all tables is a row with exact numbers") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}}, 40.123456789);
  archive.add({{"policy", text("fcfs")}, {"gpu", text("h200-141gb")}}, 30);
  const std::string csv = printed(tables_of(archive), GridFormat::csv);
  CHECK_THAT(csv, Contains("gpu,settings,kind,jps,variant,"));
  CHECK_THAT(
      csv, Contains("h100-80gb,,MODELLED (sim),1,fcfs,jct_wall_mean_s,s,1,40.123456789,,1,best,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 3);
}

TEST_CASE("control characters of an archive are escaped in a table") {
  ArchivedCells archive;
  archive.add({{"policy", text("a|b\x1b[2J")}, {"gpu", text("x\ny")}}, 40);
  const auto tables = tables_of(archive);
  CHECK_THAT(printed(tables), Contains("x\\ny: ") && Contains("a|b\\x1b[2J"));
}
