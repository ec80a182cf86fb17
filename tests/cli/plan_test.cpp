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
