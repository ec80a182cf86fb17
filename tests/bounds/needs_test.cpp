#include "workers/bounds/bounds.hpp"

#include "tests/support/catch.hpp"

namespace {

/// Prompts of 8, 15 and so on tokens with answers of 3; the first `shared` are common to all jobs.
workload::Job job_of(engine::TokenId first, int turns, int shared) {
  workload::Job job;
  for (int turn = 0; turn < turns; ++turn)
    job.turns.push_back({8 + 7 * turn, 3, engine::ToolId::none, std::chrono::seconds(turn)});
  for (int at = 0; at < 8 + 7 * turns; ++at)
    job.tokens.push_back(at < shared ? 0 : first + static_cast<engine::TokenId>(at));
  return job;
}

/// Turns whose prompts are made on demand: all the same token, another one in odd turns.
class Alternating final : public workload::PromptSource {
 public:
  std::vector<workload::Segment> segments(std::uint32_t, int) const override { return {}; }
  void make(std::uint32_t job, int turn, std::vector<engine::TokenId>& tokens) const override {
    tokens.assign(15, 10 * job + static_cast<engine::TokenId>(turn % 2));
  }
};

}  // namespace

TEST_CASE("a turn needs the tokens that neither its job nor another one computes") {
  workload::Workload workload;
  workload.jobs = {job_of(1000, 2, 6), job_of(2000, 1, 6)};
  const auto needs = bounds::needs_of(workload, 4);
  REQUIRE(needs.size() == 2);
  const bounds::TurnNeed first = needs[0][0], second = needs[0][1];
  CHECK(first.fresh == 8 - 4);  // one whole block of the six common tokens
  CHECK(first.unshared == 4);
  CHECK(second.fresh == 15 - (8 + 3 - 1));  // an answer's last token is not computed
  CHECK(second.unshared == 11);
  CHECK(second.gap_s == 1);
  CHECK(needs[1][0].fresh == 4);
}

TEST_CASE("a prompt that other jobs have whole still needs a token") {
  workload::Workload workload;
  workload.jobs = {job_of(1000, 1, 0), job_of(1000, 2, 0)};
  const auto needs = bounds::needs_of(workload, 4);
  CHECK(needs[0][0].fresh == 1);
  CHECK(needs[0][0].unshared == 0);
  CHECK(needs[1][1].fresh == 5);
}

TEST_CASE("a prompt that an earlier turn had is known, whatever came between") {
  workload::Workload workload;
  workload.prompts = std::make_shared<Alternating>();
  workload.jobs.resize(1);
  for (int turn = 0; turn < 3; ++turn)
    workload.jobs[0].turns.push_back({12, 3, engine::ToolId::none, engine::Nanos{0}, 0});
  const auto needs = bounds::needs_of(workload, 4);
  CHECK(needs[0][0].fresh == 12);
  CHECK(needs[0][1].fresh == 12);
  CHECK(needs[0][2].fresh == 1);
  CHECK(needs[0][2].unshared == 12);
}
