#include "analysis/compare/external_cell.hpp"

#include <fstream>

#include "analysis/compare/config.hpp"
#include "analysis/report/report.hpp"
#include "sweeps/files/durable_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/sweeps/archive_world.hpp"

using analysis::ExternalCell;
using analysis::load_external;
using Catch::Matchers::Contains;

namespace {

const std::string kGood = R"x({"format": "kvsweep-external", "version": 1, "name": "generate()",
  "experiment": "lab-naive", "kind": "MEASURED (torch 2.9, NVIDIA A100)",
  "config": {"gpu": "a100-40gb", "engine.max_num_seqs": 16, "scale": 0.5, "exact": true},
  "figures": {"output_tok_per_s": 293.5, "jobs": 16}, "passes": [{"seconds": 7}]})x";

/// kGood with one text in place of another.
std::string with(const std::string& old, const std::string& changed) {
  std::string text = kGood;
  return text.replace(text.find(old), old.size(), changed);
}

class ResultFile {
 public:
  explicit ResultFile(const std::string& text) { std::ofstream(path()) << text; }
  std::string path() const { return (folder_.path() / "hf.json").string(); }
  std::string refusal() const {
    return error_of<sweep::SpecError>([&] { load_external(path()); });
  }

 private:
  support::TempDir folder_;
};

}  // namespace

TEST_CASE("an external result has a name, a source, and a cell's configuration and figures",
          "[external]") {
  const ResultFile file(kGood);
  const ExternalCell found = load_external(file.path());
  CHECK(found.file == "hf.json");
  CHECK(found.name == "generate()");
  CHECK(found.experiment == "lab-naive");
  CHECK(found.source == "MEASURED (torch 2.9, NVIDIA A100)");
  const analysis::ConfiguredCell cell(found.record);
  CHECK(analysis::shown(cell.value("gpu")) == "a100-40gb");
  CHECK(analysis::shown(cell.value("engine.max_num_seqs")) == "16");
  CHECK(analysis::shown(cell.value("exact")) == "true");
  CHECK(cell.figure("output_tok_per_s") == 293.5);
  CHECK(found.record.backend == "external");
}

TEST_CASE("an error in an external result is named with its file and key", "[external]") {
  struct Wrong {
    std::string text, said;
  };
  const Wrong all[] = {
      {"{", "is no JSON: parse error at line 1, column 2"},
      {"[]", "format must be \"kvsweep-external\""},
      {with("kvsweep-external", "kvsweep-report"), "format must be \"kvsweep-external\""},
      {with("\"version\": 1", "\"version\": 2"), "version must be 1, found 2"},
      {with("\"generate()\"", "\"\""), "name must be a text that is not empty, found \"\""},
      {with("\"lab-naive\"", "7"), "experiment must be a text that is not empty, found 7"},
      {with("MEASURED", "GUESSED"),
       "kind must begin with MEASURED ( or MODELLED (, found \"GUESSED"},
      {with("0.5", "[1]"), "config.scale must be a text, a number or a boolean, found [1]"},
      {with("293.5", "\"fast\""), "figures.output_tok_per_s must be a number, found \"fast\""},
      {with("{\"output_tok_per_s\": 293.5, \"jobs\": 16}", "{}"),
       "figures must be a table that is not empty, found {}"},
      {with("293.5", "1e999"), "is no JSON: "},
      {with("293.5", "\"\xff\""), "is no JSON: "},
      {with("0.5", std::string(100'000, '[') + std::string(100'000, ']')),
       "is no JSON: is nested too deeply; allowed: 256 levels"},
      {with("0.5", "1, \"scale\": 2"), "is no JSON: the key \"scale\" stands twice in one object"},
  };
  for (const Wrong& wrong : all) {
    const ResultFile file(wrong.text);
    CHECK_THAT(file.refusal(), Contains(file.path()) && Contains(wrong.said));
  }
}

TEST_CASE("a whole number beyond 64 signed bits keeps its value", "[external]") {
  const ResultFile file(with("0.5", "18446744073709551615"));
  const ExternalCell found = load_external(file.path());
  CHECK_THAT(analysis::shown(analysis::ConfiguredCell(found.record).value("scale")),
             Catch::Matchers::StartsWith("18446744073709551616"));
}

TEST_CASE("a missing external result is a usage error", "[external]") {
  CHECK_THROWS_AS(load_external("/nowhere/hf.json"), sweep::FileError);
}

TEST_CASE("external results alone make no report", "[external]") {
  const ResultFile file(kGood);
  CHECK_THROWS_AS(analysis::make_report({file.path()}, "/nowhere"), sweep::SpecError);
}

TEST_CASE("an external result does not count as a cell of a report", "[external]") {
  ArchiveWorld world(2);
  world.open();
  world.run_all({0, 1});
  world.close();
  const ResultFile file(kGood);
  const analysis::Report report = analysis::make_report({world.path(), file.path()}, "/nowhere");
  CHECK(report.archives.size() == 1);
  CHECK(report.cells.size() == 2);
  CHECK(report.missing.empty());
  REQUIRE(report.externals.size() == 1);
  CHECK(report.externals[0].name == "generate()");
}
