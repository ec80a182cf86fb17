#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using nlohmann::json;
using support::Outcome;
using support::Program;
using support::text_of;
namespace fs = std::filesystem;

namespace {

const fs::path kSource = KVSWEEP_SOURCE_DIR;

std::vector<std::string> kept_archives() {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(kSource / "sweeps/measured"))
    if (entry.path().extension() == ".h5") paths.push_back(entry.path().string());
  return paths;
}

std::string with_one_decimal(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

Outcome must_run(const Program& program, const std::vector<std::string>& words) {
  Outcome outcome = program.run(words);
  INFO(words[0] << ' ' << words[1] << ": " << outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return outcome;
}

}  // namespace

TEST_CASE("every kept archive is whole, and claims and the report read it") {
  const Program program;
  REQUIRE_FALSE(kept_archives().empty());
  for (const std::string& archive : kept_archives()) {
    must_run(program, {"check", archive});
    must_run(program, {"claims", archive, "--set", "seeds-000"});
    must_run(program, {"report", archive, "-o", fs::path(archive).stem().string()});
  }
}

TEST_CASE("what is kept takes at most 10 MB of a clone") {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(kSource / "sweeps/measured"))
    bytes += entry.file_size();
  CHECK(bytes <= 10'000'000);
}

TEST_CASE("the studies state the mean completion time of every kept cell") {
  const Program program;
  std::string studies;
  for (const fs::directory_entry& page : fs::directory_iterator(kSource / "docs/studies"))
    studies += text_of(page.path());
  for (const std::string& archive : kept_archives()) {
    const Outcome cells =
        must_run(program, {"export", archive, "--table", "cells", "--format", "jsonl"});
    for (const std::string& line : support::lines_of(cells.out)) {
      const json cell = json::parse(line);
      if (cell.at("status") != "ok") continue;
      const std::string mean = with_one_decimal(cell.at("jct_wall_mean_s"));
      INFO(archive << ", cell " << cell.at("cell") << ": " << mean << " s");
      CHECK(studies.find(mean) != std::string::npos);
    }
  }
}

TEST_CASE(
    "measured cells of a card are simulated from kept summaries, which have no steps to fit") {
  const Program program;
  const std::string kept = (kSource / "sweeps/measured/tiers-h100.h5").string();
  const Outcome fit = program.run({"fit", kept});
  CHECK(fit.exit_code == 2);
  CHECK(fit.err.find("is stored at the level summary, without its steps") != std::string::npos);
  const Outcome twin =
      must_run(program, {"twin", kept, "--only", "policy=cpu_offload,jps=6,repeat=0,dram_gib=64"});
  CHECK(twin.out.find("MEASURED (cuda) / MODELLED (sim, measured, ") != std::string::npos);
  CHECK(twin.out.find("policy=cpu_offload jps=6 dram_gib=64") != std::string::npos);
  CHECK(twin.out.find("mean distance over ") != std::string::npos);
}

TEST_CASE("a summary of an older result has the tail that its jobs told") {
  const Program program;
  const std::string kept = (kSource / "sweeps/measured/order-or-pins-h100.h5").string();
  must_run(program, {"export", kept, "--to-archive", "summary", "-o", "s.h5"});
  const Outcome before = must_run(program, {"table", kept});
  CHECK(before.out.find("p99 first token") != std::string::npos);
  CHECK(must_run(program, {"table", "s.h5"}).out == before.out);
}
