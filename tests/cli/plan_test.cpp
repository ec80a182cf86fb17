#include <string>
#include <vector>

#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using support::Program;

namespace {

std::vector<std::string> offers(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string& line : support::lines_of(text))
    if (line.starts_with("what would tell: ")) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("a plan names the runs that would tell why a policy is fast, as run does") {
  const Program run;
  std::string pressed = support::kTinySweep + "[engine]\nkv_tokens = 49152\n";
  pressed.replace(pressed.find("jobs = 3"), 8, "jobs = 8");
  run.write("s.toml", pressed);
  const auto ran = offers(run.run({"run", "s.toml", "--archive", "a.h5"}).out);
  REQUIRE(ran.size() == 2);
  CHECK_THAT(ran[0], Contains("kvsweep run s.toml --set policy=job_fcfs"));
  CHECK(offers(run.run({"plan", "s.toml", "--archive", "a.h5"}).out) == ran);
}

TEST_CASE("a plan names the cells that a verdict over the band of costs lacks, if asked") {
  const Program run;
  REQUIRE(run.run({"run", "tiny.toml", "--archive", "a.h5"}).exit_code == 0);
  const std::vector<std::string> words = {"plan", "tiny.toml", "--archive", "a.h5"};
  CHECK_THAT(run.run(words).out, !Contains("sensitivity:"));
  const support::Outcome asked =
      run.run({"plan", "tiny.toml", "--archive", "a.h5", "--sensitivity"});
  CHECK_THAT(asked.out, Contains("\nsensitivity: of "));
  CHECK(asked.exit_code == 0);
  CHECK_THAT(run.run({"plan", "tiny.toml", "--sensitivity"}).err, Contains("needs --archive"));
}

TEST_CASE("control variates are for measured cells of one archive") {
  const Program run;
  REQUIRE(run.run({"run", "tiny.toml", "--archive", "a.h5"}).exit_code == 0);
  CHECK_THAT(run.run({"compare", "a.h5", "--control", "a.h5"}).err, Contains("holds cells of sim"));
  CHECK_THAT(run.run({"compare", "a.h5", "a.h5", "--control", "a.h5"}).err,
             Contains("--control is for one archive"));
}
