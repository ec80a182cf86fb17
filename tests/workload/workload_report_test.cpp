#include "workers/workload/workload_report.hpp"

#include <sstream>

#include "tests/support/catch.hpp"
#include "workers/engine/base/errors.hpp"

using namespace workload;
using Catch::Matchers::Contains;

namespace {

/// Builds a job from segments; turns follow from the kinds.
class JobBuilder {
 public:
  JobBuilder& prompt(SegmentKind kind, int tokens) { return add(kind, tokens); }
  JobBuilder& turn(int prefix, int text, int calls, int block, engine::ToolId tool, double gap_s) {
    add(SegmentKind::role_prefix, prefix);
    const int prompt_tokens = end_;
    add(SegmentKind::assistant_text, text)
        .add(SegmentKind::tool_calls, calls)
        .add(SegmentKind::tool_block, block);
    job_.turns.push_back({prompt_tokens, end_ - prompt_tokens, tool, engine::from_seconds(gap_s)});
    return *this;
  }
  Job build(const std::string& id) {
    job_.id = id;
    job_.tokens.resize(static_cast<std::size_t>(end_));
    return job_;
  }

 private:
  JobBuilder& add(SegmentKind kind, int tokens) {
    if (tokens > 0) job_.segments.push_back({kind, static_cast<int>(job_.turns.size()), tokens});
    end_ += tokens;
    return *this;
  }

  Job job_;
  int end_ = 0;
};

constexpr engine::ToolId kCd{0};
constexpr engine::ToolId kView{1};

/// A worked example: its counts, which leave out the framing of turn 1's
/// answer.
Job worked_example() {
  return JobBuilder()
      .prompt(SegmentKind::system, 604)
      .prompt(SegmentKind::user, 1498)
      .turn(0, 20, 15, 5, kCd, 1.0)
      .prompt(SegmentKind::tool_response, 10)
      .turn(3, 10, 13, 5, kView, 0)
      .build("astropy__astropy-12907");
}

std::vector<std::pair<std::string, int>> as_pairs(const std::vector<BudgetPart>& parts) {
  std::vector<std::pair<std::string, int>> pairs;
  for (const BudgetPart& part : parts) pairs.emplace_back(part.name, part.tokens);
  return pairs;
}

}  // namespace

TEST_CASE("the worked example splits into the parts that its document lists", "[report]") {
  const TokenBudget budget =
      token_budget(worked_example(), 1, {.block_size = 16, .max_num_batched_tokens = 8192});
  CHECK(budget.prompt_tokens == 2155);
  CHECK(budget.output_tokens == 28);
  CHECK(as_pairs(budget.input) ==
        std::vector<std::pair<std::string, int>>{{"system prompt", 604},
                                                 {"user", 1498},
                                                 {"turn 1 assistant text + tool_calls JSON", 35},
                                                 {"turn 1 synthesized bash block", 5},
                                                 {"turn 1 tool response", 10},
                                                 {"turn 2 assistant role prefix", 3}});
  CHECK(as_pairs(budget.output) ==
        std::vector<std::pair<std::string, int>>{
            {"assistant text", 10}, {"tool_calls JSON", 13}, {"synthesized bash block", 5}});
}

TEST_CASE(
    "the worked example reuses whole blocks of what the turn before computed, not all but 3 tokens",
    "[report]") {
  const TokenBudget budget =
      token_budget(worked_example(), 1, {.block_size = 16, .max_num_batched_tokens = 8192});
  // The previous turn leaves 2,142 tokens, the last of which was never fed back: 2,141, or 133
  // whole blocks.
  CHECK(budget.reusable_tokens == 2128);
  CHECK(budget.tokens_to_compute == 27);
  // With blocks of one token the tool response, the role prefix and the unfed token remain.
  CHECK(token_budget(worked_example(), 1, {.block_size = 1}).tokens_to_compute == 10 + 3 + 1);
}

TEST_CASE("the last prefill step samples the first answer token", "[report]") {
  const TokenBudget cached =
      token_budget(worked_example(), 1, {.block_size = 16, .max_num_batched_tokens = 8192});
  CHECK(cached.prefill_steps == 1);
  CHECK(cached.min_steps == 28);
  CHECK(cached.steps_counting_prefill_apart == 29);
}

TEST_CASE("a prompt over the token budget takes several prefill steps", "[report]") {
  const auto steps = [](int budget) {
    return token_budget(worked_example(), 0, {.block_size = 16, .max_num_batched_tokens = budget})
        .prefill_steps;
  };
  CHECK(steps(2102) == 1);
  CHECK(steps(2101) == 2);
  CHECK(steps(1051) == 2);
  CHECK(steps(1) == 2102);
}

TEST_CASE("a first turn reuses nothing of its own job", "[report]") {
  const TokenBudget budget = token_budget(worked_example(), 0, {});
  CHECK(budget.reusable_tokens == 0);
  CHECK(budget.tokens_to_compute == 2102);
}

TEST_CASE("at least one prompt token is computed even if the prompt only repeats", "[report]") {
  // A prompt as long as the cached KV: 32 tokens, of which 31 may be reused.
  Job job;
  job.turns = {{20, 13, engine::ToolId::none, {}}, {32, 1, engine::ToolId::none, {}}};
  job.tokens.resize(33);
  CHECK(token_budget(job, 1, {.block_size = 16}).reusable_tokens == 16);
  CHECK(token_budget(job, 1, {.block_size = 1}).reusable_tokens == 31);
}

TEST_CASE("a turn that the job lacks is refused with the turns it has", "[report]") {
  CHECK_THROWS_WITH(token_budget(worked_example(), 2, {}), Contains("no turn 3; allowed: 1 to 2"));
  CHECK_THROWS_AS(token_budget(worked_example(), -1, {}), engine::InputError);
  CHECK_THROWS_AS(token_budget(worked_example(), 0, {.block_size = 0}), engine::InputError);
}

TEST_CASE("percentiles interpolate between ranks", "[report]") {
  const Distribution d = distribution_of({4, 1, 3, 2});
  CHECK(d.count == 4);
  CHECK(d.mean == Approx(2.5));
  CHECK(d.min == 1);
  CHECK(d.p50 == Approx(2.5));
  CHECK(d.p90 == Approx(3.7));
  CHECK(d.max == 4);
  CHECK(distribution_of({7}).p99 == 7);
  CHECK(distribution_of({}).count == 0);
}

TEST_CASE("the dataset table counts turns, tokens, gaps and tools over all jobs", "[report]") {
  Workload workload;
  workload.source = "two jobs";
  workload.tools = {"cd", "editor_view"};
  workload.jobs = {worked_example(), JobBuilder()
                                         .prompt(SegmentKind::user, 96)
                                         .turn(4, 9, 0, 0, engine::ToolId::none, 0)
                                         .build("b")};
  const WorkloadStatistics table = statistics_of(workload);
  CHECK(table.jobs == 2);
  CHECK(table.turns == 3);
  CHECK(table.turns_per_job.mean == Approx(1.5));
  CHECK(table.prompt_tokens.p50 == 2102);
  CHECK(table.first_prompt.max == 2102);
  CHECK(table.first_prompt.min == 100);
  CHECK(table.new_tokens.count == 1);
  CHECK(table.new_tokens.p50 == 13);
  CHECK(table.output_tokens.max == 40);
  CHECK(table.final_context.max == 2183);
  CHECK(table.gap_s.count == 1);
  CHECK(table.gap_s.p50 == Approx(1.0));
  REQUIRE(table.tools.size() == 3);
  CHECK(table.tools[2].tool == "(none)");
  CHECK(table.tools[2].share == Approx(1.0 / 3));
}

TEST_CASE("both reports print one figure a line with its name", "[report]") {
  std::ostringstream out;
  Workload workload{"two jobs",         "words", "", {"cd", "editor_view"},
                    {worked_example()}, nullptr, {}};
  print(out, statistics_of(workload));
  print(out, token_budget(workload.jobs[0], 1, {.block_size = 16, .max_num_batched_tokens = 8192}));
  CHECK_THAT(out.str(), Contains("prompt tokens per turn"));
  CHECK_THAT(out.str(), Contains("editor_view       1   50.0%"));
  CHECK_THAT(out.str(), Contains("turn 2 of 2"));
  CHECK_THAT(out.str(), Contains("reusable (133 whole blocks of 16)                2128 tok"));
  CHECK_THAT(out.str(), Contains("min steps                                          28 steps"));
}
