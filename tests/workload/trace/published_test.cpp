#include <algorithm>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "workers/workload/trace/read_trace.hpp"
#include "workers/workload/trace/working_set.hpp"

namespace {

workload::TraceSet shared_trace(const std::string& name) {
  return workload::read_trace(support::shared_path("data/traces/" + name)->string());
}

std::size_t turns_of(const workload::TraceSet& set) {
  std::size_t turns = 0;
  for (const workload::TraceSession& session : set.sessions) turns += session.turns.size();
  return turns;
}

double percent(double share) { return std::round(1000 * share) / 10; }

}  // namespace

TEST_CASE("the coding sessions share what their description says", "[trace]") {
  if (!support::shared_path("data/traces")) SKIP_TEST("no shared folder with traces");
  const workload::TraceSet set = shared_trace("weka_claude_code_473.jsonl.xz");
  CHECK(set.format == "weka");
  CHECK(set.sessions.size() == 473);
  CHECK(turns_of(set) == 31493 + 567);  // requests of the roots, and of 51 subagents
  const workload::PublishedSharing sharing = workload::published_sharing(set);
  CHECK(percent(sharing.tokens) == 96.3);
  std::vector<double> shares = sharing.by_session;
  std::ranges::sort(shares);
  // Published for another selection of the same corpus: 91.1, 96.9 and 98.5 %.
  CHECK(shares[shares.size() / 4] == Approx(0.911).margin(0.01));
  CHECK(shares[shares.size() / 2] == Approx(0.969).margin(0.02));
  CHECK(shares[shares.size() * 3 / 4] == Approx(0.985).margin(0.02));
  std::size_t ids = 0;
  for (const workload::TraceSession& session : set.sessions) ids += session.ids.size();
  CHECK(ids < 2'600'000);
}

TEST_CASE("Mooncake's requests share what their authors publish", "[trace]") {
  if (!support::shared_path("data/traces")) SKIP_TEST("no shared folder with traces");
  const workload::TraceSet conversation = shared_trace("mooncake_conversation_trace.jsonl.xz");
  CHECK(conversation.format == "mooncake");
  CHECK(conversation.sessions.size() == 12031);
  CHECK(percent(workload::published_sharing(conversation).blocks) == 36.6);
  const workload::TraceSet synthetic = shared_trace("mooncake_synthetic_trace.jsonl.xz");
  CHECK(synthetic.sessions.size() == 3993);
  CHECK(percent(workload::published_sharing(synthetic).blocks) == 64.0);
}

TEST_CASE("Azure's requests have times and lengths, and share nothing", "[trace]") {
  if (!support::shared_path("data/traces")) SKIP_TEST("no shared folder with traces");
  const workload::TraceSet set = shared_trace("AzureLLMInferenceTrace_code_2023.csv.xz");
  CHECK(set.format == "azure");
  REQUIRE(set.sessions.size() == 8819);
  CHECK(set.sessions[1].arrival_s == Approx(0.052));
  CHECK(set.sessions[0].turns[0].prompt_tokens == 4808);
  CHECK(set.sessions[0].turns[0].output_tokens == 10);
  CHECK(workload::published_sharing(set).tokens == 0);
}

TEST_CASE("rounds of TraceLab share the prefix that the provider found", "[trace]") {
  if (!support::shared_path("data/traces")) SKIP_TEST("no shared folder with traces");
  const workload::TraceSet set = shared_trace("tracelab_example_rounds.jsonl.xz");
  CHECK(set.format == "tracelab");
  REQUIRE(set.sessions.size() == 2);
  const auto at = std::ranges::find_if(set.sessions, [](const workload::TraceSession& session) {
    return session.id.starts_with("claude:");
  });
  REQUIRE(at != set.sessions.end());
  const workload::TraceSession& first = *at;
  CHECK(first.turns[1].shared_tokens == 29380);
  CHECK(set.tools[static_cast<std::size_t>(first.turns[0].tool)] == "WebSearch");
  CHECK(first.turns[1].think_s == Approx(19.291).margin(1e-3));
}
