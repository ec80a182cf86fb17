#include "workers/workload/generators.hpp"

#include <cmath>

#include "tests/support/catch.hpp"
#include "tests/workload/generated_jobs.hpp"
#include "workers/engine/base/errors.hpp"

using namespace workload;
using namespace std::chrono_literals;

TEST_CASE("every agent has the eight published prompt sizes and answers of 20 tokens", "[agent8]") {
  const auto w = make_agent8({.jobs = 3});
  REQUIRE(w.jobs.size() == 3);
  for (const Job& job : w.jobs) {
    std::vector<int> prompts;
    for (const Turn& turn : job.turns) {
      prompts.push_back(turn.prompt_tokens);
      CHECK(turn.output_tokens == 20);
    }
    CHECK(prompts == std::vector{92, 1840, 3449, 6025, 7454, 10299, 12333, 13193});
  }
}

TEST_CASE("an agent's segments and turns cover its tokens, with half a second between turns",
          "[agent8]") {
  generated::check_workload(make_agent8({.jobs = 5}), 500ms, 128'000);
  generated::check_workload(make_agent8({.jobs = 5, .gap_s = 0.1, .vocabulary = 1000}), 100ms,
                            1000);
}

TEST_CASE("a scale shortens what the tools return and leaves the rest as it is", "[agent8]") {
  const auto w = make_agent8({.jobs = 1, .scale = 0.1});
  const auto& turns = w.jobs[0].turns;
  CHECK(turns[0].prompt_tokens == 92);
  // 1,840 tokens: 112 of the previous turn, 1,724 of the tool and 4 of framing.
  CHECK(turns[1].prompt_tokens == 92 + 20 + 172 + 4);
  CHECK(turns[7].prompt_tokens > 1300);
  CHECK(turns[7].prompt_tokens < 1600);
  CHECK_THROWS_AS(make_agent8({.jobs = 1, .scale = 0}), engine::InputError);
}

TEST_CASE("any two agents share the system prompt's 80 tokens and nothing else", "[agent8]") {
  const auto w = make_agent8({.jobs = 300});
  CHECK(generated::all_share_exactly(w, 80));
  CHECK(generated::repeated_blocks(w, 80) == 0);
}

TEST_CASE("agents name a tool only with the hint, and none after the last turn", "[agent8]") {
  const auto silent = make_agent8({.jobs = 1}),
             hinted = make_agent8({.jobs = 1, .tool_hint = true});
  CHECK(silent.tools.empty());
  CHECK(hinted.tools == std::vector<std::string>{"tool"});
  for (std::size_t k = 0; k < 8; ++k) {
    CHECK(silent.jobs[0].turns[k].tool == engine::ToolId::none);
    CHECK(hinted.jobs[0].turns[k].tool == (k < 7 ? engine::ToolId{0} : engine::ToolId::none));
  }
  CHECK(silent.jobs[0].tokens == hinted.jobs[0].tokens);
}

TEST_CASE("agents are the same for the same seed, whatever their number, and differ between seeds",
          "[agent8]") {
  const auto two = make_agent8({.jobs = 2}), three = make_agent8({.jobs = 3});
  CHECK(two.jobs[1].tokens == three.jobs[1].tokens);
  CHECK(generated::checksum(make_agent8({.jobs = 2, .seed = 43})) != generated::checksum(two));
  CHECK(generated::checksum(two) == 0x78915010b2e1f555U);  // archives depend on these jobs
}

TEST_CASE("a configuration that describes no agents is refused", "[agent8]") {
  CHECK_THROWS_AS(make_agent8({.jobs = 0}), engine::InputError);
  CHECK_THROWS_AS(make_agent8({.jobs = -1}), engine::InputError);
  CHECK_THROWS_AS(make_agent8({.jobs = 100'001}), engine::InputError);
  CHECK_THROWS_AS(make_agent8({.gap_s = -0.5}), engine::InputError);
  CHECK_THROWS_AS(make_agent8({.gap_s = std::nan("")}), engine::InputError);
  CHECK_THROWS_AS(make_agent8({.vocabulary = 0}), engine::InputError);
}
