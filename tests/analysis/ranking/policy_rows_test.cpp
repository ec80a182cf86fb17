#include "analysis/ranking/answer.hpp"
#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"

using analysis::RateRow;

namespace {

/// A cell with a further axis.
void add(ArchivedCells& archive, const std::string& policy, const std::string& axis,
         const sweep::Value& value, double jct_s) {
  archive.add({{"policy", text(policy)}, {axis, value}}, jct_s).axes.emplace_back(axis, value);
}

}  // namespace

TEST_CASE("an axis of the policy makes variants that compete, any other axis makes places") {
  ArchivedCells archive;
  add(archive, "continuum", "policy.ttl_s", whole(1), 40);
  add(archive, "continuum", "policy.ttl_s", whole(5), 20);
  const auto cells = archive.cells();
  const std::vector<RateRow> rows = arrange(analysis::with_results(cells));
  REQUIRE(rows.size() == 1);
  REQUIRE(rows[0].policies.size() == 2);
  CHECK(rows[0].find("continuum (ttl_s=5)") != nullptr);
  CHECK(analysis::answer_of(rows).lines ==
        std::vector<analysis::AnswerLine>{
            {"h100-80gb",
             "at 1 job/s continuum (ttl_s=5) is best; continuum (ttl_s=1) takes 2.00 times as "
             "long"}});

  ArchivedCells blocks;
  add(blocks, "fcfs", "engine.block_size", whole(16), 40);
  add(blocks, "fcfs", "engine.block_size", whole(32), 20);
  const auto others = blocks.cells();
  const std::vector<RateRow> places = arrange(analysis::with_results(others));
  REQUIRE(places.size() == 2);
  CHECK(places[0].place.settings == "engine.block_size=16");
}

TEST_CASE("profiles of a server compete as policies do, also where sim stands for it") {
  ArchivedCells archive;
  add(archive, "fcfs", "server.profile", text("plain"), 40);
  add(archive, "job_fcfs", "server.profile", text("jobs"), 20);
  add(archive, "fcfs", "server.profile", text("second"), 30);
  const auto cells = archive.cells();
  const std::vector<RateRow> rows = arrange(analysis::with_results(cells));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].place.settings.empty());
  REQUIRE(rows[0].policies.size() == 3);
  CHECK(rows[0].find("fcfs (profile=plain)") != nullptr);
  CHECK(rows[0].find("job_fcfs (profile=jobs)") != nullptr);
}

TEST_CASE("cells that differ in any key but the seed are not repeats of each other") {
  ArchivedCells archive;
  for (const int tokens : {2048, 8192})
    for (const int seed : {42, 43})
      archive.add({{"policy", text("fcfs")}, {"engine.max_num_batched_tokens", whole(tokens)}}, 40,
                  seed);
  const auto cells = archive.cells();
  const std::vector<RateRow> rows = arrange(analysis::with_results(cells));
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].place.settings == "engine.max_num_batched_tokens=8192");
  CHECK(rows[1].policies.at(0).repeats.size() == 2);
}

TEST_CASE("rates, host memory and numbers of settings ascend, in whatever order archives come") {
  ArchivedCells archive;
  for (const int live : {16, 4})
    for (const int jps : {6, 3, 10, 1})
      for (const int dram_gib : {128, 16}) {
        const Settings settings = {{"policy", text("lmcache")},
                                   {"jps", whole(jps)},
                                   {"dram_gib", whole(dram_gib)},
                                   {"workload.live", whole(live)}};
        archive.add(settings, 40).axes.emplace_back("workload.live", whole(live));
      }
  const auto cells = archive.cells();
  std::string order;
  for (const RateRow& row : arrange(analysis::with_results(cells)))
    order += row.place.settings.substr(row.place.settings.find('=')) + ':' + row.jps + ' ';
  CHECK(order == "=4:1 =4:3 =4:6 =4:10 =16:1 =16:3 =16:6 =16:10 ");
  const std::vector<RateRow> rows = arrange(analysis::with_results(cells));
  CHECK(rows[0].policies[0].variant == "lmcache-16G");
  CHECK(rows[0].policies[1].variant == "lmcache-128G");
}

TEST_CASE("cells without a result are not arranged") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}}, 40);
  archive.add({{"policy", text("continuum")}}, 40).status = sweep::CellStatus::failed;
  const auto cells = archive.cells();
  const std::vector<RateRow> rows = arrange(analysis::with_results(cells));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].policies.size() == 1);
}

TEST_CASE("a place is named by the settings that tell it from the others, and by no more") {
  ArchivedCells archive;
  for (const auto& [gpu, pool, size] :
       {std::tuple("h100", 4, 8), {"h200", 9, 8}, {"h200", 9, 16}}) {
    const Settings settings = {{"gpu", text(gpu)},
                               {"policy", text("fcfs")},
                               {"engine.block_size", whole(size)},
                               {"engine.kv_tokens", whole(pool)}};
    auto& axes = archive.add(settings, 40).axes;
    axes.emplace_back("engine.block_size", whole(size));
    axes.emplace_back("engine.kv_tokens", whole(pool));
  }
  const auto cells = archive.cells();
  std::string names;
  for (const RateRow& row : arrange(analysis::with_results(cells)))
    names += row.place.name() + "; ";
  CHECK(names ==
        "h100, engine.block_size=8; h200, engine.block_size=8; h200, engine.block_size=16; ");
}
