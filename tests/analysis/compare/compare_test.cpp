#include "analysis/compare/compare.hpp"

#include <cmath>
#include <sstream>

#include "sweeps/archive/errors.hpp"
#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"

using analysis::CompareError;
using analysis::CompareQuestion;
using analysis::ComparisonReport;
using Catch::Matchers::Contains;

namespace {

const CompareQuestion kPolicyByRate{{"policy", "jps"}, "jct_wall_mean_s", std::nullopt};

ComparisonReport within(const ArchivedCells& archive,
                        const CompareQuestion& question = kPolicyByRate) {
  return compare_within(archive.cells(), question);
}

std::string refusal(const ArchivedCells& archive, const CompareQuestion& question) {
  try {
    within(archive, question);
  } catch (const CompareError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every policy is divided by the base where the other named keys are equal") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}, {"jps", whole(1)}}, 40);
  archive.add({{"policy", text("fcfs")}, {"jps", whole(3)}}, 200);
  archive.add({{"policy", text("continuum")}, {"jps", whole(1)}}, 50);
  archive.add({{"policy", text("continuum")}, {"jps", whole(3)}}, 100);
  const ComparisonReport report = within(archive);
  REQUIRE(report.rows.size() == 2);
  CHECK(report.rows[0].ratio.value == Approx(1.25));
  CHECK(report.rows[1].ratio.value == Approx(0.5));
  CHECK(report.rows[1].over == "fcfs");
  CHECK(analysis::shown(report.rows[1].at[1]) == "3");

  const ComparisonReport other =
      within(archive, {{"policy", "jps"}, "jct_wall_mean_s", text("continuum")});
  CHECK(other.rows[1].ratio.value == Approx(2));
}

TEST_CASE(
    "cells that differ in a key that was not named are refused, with the key and both values") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}, {"engine.block_size", whole(16)}}, 40);
  archive.add({{"policy", text("continuum")}, {"engine.block_size", whole(32)}}, 50);
  const std::string message = refusal(archive, kPolicyByRate);
  CHECK_THAT(message, Contains("engine.block_size: 16 and 32"));
  CHECK_THAT(message, Contains("policy=continuum"));
  CHECK(refusal(archive, {{"policy", "jps", "engine.block_size"}, "jct_wall_mean_s", {}}) ==
        "there is nothing to compare: no two cells differ in policy and agree in the rest");
}

TEST_CASE("cells that differ within a group in a key that was not named are refused") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}, {"jps", whole(1)}}, 40);
  archive.add({{"policy", text("fcfs")}, {"jps", whole(3)}}, 200);
  CHECK_THAT(refusal(archive, {{"policy"}, "jct_wall_mean_s", {}}), Contains("jps: 1 and 3"));
}

TEST_CASE("what follows from a named key may differ") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")},
               {"policy.retention", text("free")},
               {"gpu", text("h100-80gb")},
               {"sim.constants", text("fast")},
               {"engine.kv_tokens", whole(458000)}},
              40);
  archive.add({{"policy", text("continuum")},
               {"policy.retention", text("pin")},
               {"policy.ttl_s", whole(2)},
               {"gpu", text("a100-40gb")},
               {"sim.constants", text("slow")},
               {"engine.kv_tokens", whole(90000)}},
              80);
  CHECK_THAT(refusal(archive, kPolicyByRate),
             Contains("gpu: h100-80gb and a100-40gb; name it in --by"));
  ArchivedCells same_card;
  same_card.add({{"policy", text("fcfs")}, {"policy.retention", text("free")}}, 40);
  same_card.add({{"policy", text("continuum")}, {"policy.ttl_s", whole(2)}}, 80);
  CHECK(within(same_card).rows.at(0).ratio.value == Approx(2));
  ArchivedCells cards;
  cards.add({{"policy", text("fcfs")}, {"sim.constants", text("fast")}}, 40);
  cards.add({{"policy", text("fcfs")}, {"gpu", text("a100-40gb")}, {"sim.constants", text("slow")}},
            80);
  CHECK(within(cards, {{"gpu"}, "jct_wall_mean_s", {}}).rows.at(0).ratio.value == Approx(2));
  ArchivedCells models;
  models.add({{"policy", text("fcfs")}, {"engine.dtype", text("bfloat16")}}, 40);
  models.add(
      {{"policy", text("fcfs")}, {"model", text("opt-13b")}, {"engine.dtype", text("float16")}},
      80);
  CHECK(within(models, {{"model"}, "jct_wall_mean_s", {}}).rows.at(0).ratio.value == Approx(2));
  ArchivedCells kv;
  kv.add({{"policy", text("fcfs")}, {"sim.constants", text("wide")}}, 40);
  kv.add({{"policy", text("fcfs")},
          {"engine.kv_dtype", text("fp8_e4m3")},
          {"sim.constants", text("narrow")},
          {"engine.kv_tokens", whole(916000)}},
         80);
  CHECK(within(kv, {{"engine.kv_dtype"}, "jct_wall_mean_s", {}}).rows.at(0).ratio.value ==
        Approx(0.5));
  CHECK_THAT(refusal(models, {{"gpu"}, "jct_wall_mean_s", {}}),
             Contains("model: llama-3.1-8b and opt-13b; name it in --by"));
}

TEST_CASE(
    "an engine whose results changed under one policy compares it with others, not with itself") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}, {"engine_abi", whole(4)}}, 40);
  archive.add({{"policy", text("cpu_offload")}, {"engine_abi", whole(6)}}, 80);
  CHECK(within(archive).rows.at(0).ratio.value == Approx(2));
  archive.add(
      {{"policy", text("cpu_offload")}, {"engine_abi", whole(4)}, {"repeat.seed", whole(43)}}, 90);
  CHECK_THAT(refusal(archive, kPolicyByRate), Contains("engine_abi: 6 and 4; the program"));
}

TEST_CASE("backends and emulated cards are never compared, even when they are named") {
  for (const std::string key : {"backend", "engine.emulate"}) {
    ArchivedCells archive;
    archive.add({{"policy", text("fcfs")}, {key, text("sim")}}, 40);
    archive.add({{"policy", text("fcfs")}, {key, text("cuda")}}, 50);
    CHECK_THAT(refusal(archive, {{key}, "jct_wall_mean_s", {}}),
               Contains(key + ": sim and cuda; results of different backends"));
  }
}

TEST_CASE("a policy without a host tier is the base of every size of a tier") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}}, 100);
  archive.add({{"policy", text("cpu_offload")}, {"dram_gib", whole(16)}}, 100);
  archive.add({{"policy", text("cpu_offload")}, {"dram_gib", whole(128)}}, 40);
  const ComparisonReport report =
      within(archive, {{"policy", "dram_gib", "jps"}, "jct_wall_mean_s", {}});
  REQUIRE(report.rows.size() == 2);
  CHECK(report.rows[0].ratio.value == Approx(1));
  CHECK(report.rows[1].ratio.value == Approx(0.4));
}

TEST_CASE("means and ratio are of the repeats whose seeds both sides have") {
  ArchivedCells archive;
  for (const int seed : {42, 43, 44}) archive.add({{"policy", text("fcfs")}}, 2.0 * seed, seed);
  for (const int seed : {43, 44, 45}) archive.add({{"policy", text("continuum")}}, seed, seed);
  const analysis::Comparison row = within(archive).rows.at(0);
  CHECK(row.ratio.repeats == 2);
  CHECK(row.base == Approx(87));
  CHECK(row.value == Approx(43.5));
  CHECK(row.ratio.value == Approx(0.5));
}

TEST_CASE("a single repeat gives a ratio without an interval") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}}, 10);
  archive.add({{"policy", text("continuum")}}, 5);
  const analysis::Comparison row = within(archive).rows.at(0);
  CHECK(row.ratio.value == Approx(0.5));
  CHECK(std::isnan(row.ratio.interval.low));
  CHECK(std::isnan(row.ratio.interval.high));
}

TEST_CASE("cells without a result are left out and counted") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}}, 100);
  archive.add({{"policy", text("continuum")}}, 50);
  archive.add({{"policy", text("lmcache")}}, 0).status = sweep::CellStatus::excluded;
  const ComparisonReport report = within(archive);
  CHECK(report.rows.size() == 1);
  CHECK(report.without_result == 1);
}

TEST_CASE("keys, base values and figures that no cell has are refused") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}}, 100);
  CHECK_THAT(refusal(archive, {{"polcy"}, "jct_wall_mean_s", {}}),
             Contains("did you mean \"policy\"?"));
  CHECK_THAT(refusal(archive, {{"policy"}, "jct_wall_mean_s", text("continuum")}),
             Contains("policy=continuum"));
  CHECK(analysis::known_metric(archive.cells(), "jct_wall") == "jct_wall_mean_s");
  CHECK_THROWS_WITH(analysis::known_metric(archive.cells(), "jct_wall_mean"),
                    Contains("did you mean \"jct_wall_mean_s\"?"));
}

TEST_CASE("a configuration is read back as it was written") {
  const Settings settings = {{"a", text("quote \" backslash \\ line \n end")},
                             {"b", whole(-7)},
                             {"c", 0.1},
                             {"d", true},
                             {"e", 1e300}};
  Settings read;
  for (const auto& [key, value] : analysis::parse_config(sweep::canonical_json(settings)))
    read[key] = value;
  CHECK(read == settings);
  CHECK(analysis::parse_config("{}").empty());
  for (const std::string damaged :
       {"", "{", "[]", "{\"a\":1", "{\"a\":}", "{\"a\":1}x", "{\"a\":1,\"a\":2}", "{\"a\":\"\\u00",
        "{\"a\":\"\\q\"}", "{\"a\":{}}", "{\"a\":nul}"}) {
    INFO(damaged);
    CHECK_THROWS_AS(analysis::parse_config(damaged), sweep::ArchiveDamaged);
  }
  CHECK_THROWS_WITH(analysis::parse_config("{\"a\":{}}", "cell 3"),
                    "the configuration of cell 3 is not an object of scalars: found a = {}");
}
