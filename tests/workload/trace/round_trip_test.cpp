#include <cmath>
#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/workload/trace/random_sessions.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/trace/prompts.hpp"
#include "workers/workload/trace/read_trace.hpp"
#include "workers/workload/trace/working_set.hpp"
#include "workers/workload/trace/write_trace.hpp"
#include "workers/workload/trajectories.hpp"

namespace {

workload::TraceSet written_and_read(const workload::TraceSet& set, const std::string& format) {
  const support::TempDir folder;
  std::ostringstream out;
  workload::write_trace(set, format, out);
  return workload::read_trace(folder.write("t.jsonl", out.str()), format);
}

bool same_time(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) < 1e-9;
}

/// The same programs, whatever the ids are called.
void check_same(const workload::TraceSet& a, const workload::TraceSet& b) {
  REQUIRE(a.sessions.size() == b.sessions.size());
  for (std::size_t s = 0; s < a.sessions.size(); ++s) {
    const workload::TraceSession &x = a.sessions[s], &y = b.sessions[s];
    INFO("session " << x.id);
    CHECK(x.id == y.id);
    REQUIRE(x.turns.size() == y.turns.size());
    REQUIRE(x.agents.size() == y.agents.size());
    for (std::size_t t = 0; t < x.turns.size(); ++t) {
      INFO("turn " << t);
      const workload::TraceTurn &m = x.turns[t], &n = y.turns[t];
      CHECK(m.agent == n.agent);
      CHECK(m.prompt_tokens == n.prompt_tokens);
      CHECK(m.output_tokens == n.output_tokens);
      CHECK(m.waits_for == n.waits_for);
      CHECK(m.shared_tokens == n.shared_tokens);
      CHECK(same_time(m.think_s, n.think_s));
      CHECK(same_time(m.start_s, n.start_s));
      CHECK(same_time(m.api_s, n.api_s));
    }
    for (std::size_t i = 0; i < x.agents.size(); ++i)
      CHECK(x.agents[i].parent == y.agents[i].parent);
  }
  for (const int size : {16, 64}) {
    const auto first = workload::ideal_sharing(a, size), second = workload::ideal_sharing(b, size);
    for (std::size_t s = 0; s < first.size(); ++s)
      for (std::size_t t = 0; t < first[s].size(); ++t)
        CHECK(first[s][t].from_all == second[s][t].from_all);
  }
}

}  // namespace

TEST_CASE("programs with subagents are read as they were written, in both formats", "[trace]") {
  const support::TempDir folder;
  const auto set =
      workload::read_trace(folder.write("t.jsonl", trace_test::RandomSessions(3).lines(40)));
  std::size_t agents = 0;
  for (const auto& session : set.sessions) agents += session.agents.size();
  REQUIRE(agents > set.sessions.size());
  check_same(set, written_and_read(set, "mooncake"));
  check_same(set, written_and_read(set, "weka"));
  check_same(set, written_and_read(written_and_read(set, "mooncake"), "weka"));
}

TEST_CASE("a graph that is no tree of subagents is refused by the format of trees", "[trace]") {
  const support::TempDir folder;
  std::string rows;
  for (const std::string waits : {"", "\"a\"", "\"a\"", "\"b\", \"c\"", "\"b\", \"d\""}) {
    const std::string id(1, static_cast<char>('a' + std::ranges::count(rows, '\n')));
    rows += R"({"request_id": ")" + id + R"(", "wait_for": [)" + waits +
            R"(], "input_length": 5, "output_length": 1, "hash_ids": [)" +
            std::to_string(rows.size()) + "]}\n";
  }
  const auto set = workload::read_trace(folder.write("t.jsonl", rows));
  REQUIRE(set.sessions.size() == 1);
  check_same(set, written_and_read(set, "mooncake"));
  std::ostringstream out;
  CHECK_THROWS_WITH(workload::write_trace(set, "weka", out),
                    Catch::Matchers::Contains("is no tree of subagents"));
}

TEST_CASE("two prompts have exactly the tokens in common that their ids say", "[trace]") {
  const support::TempDir folder;
  const auto set = std::make_shared<workload::TraceSet>(
      workload::read_trace(folder.write("t.jsonl", trace_test::RandomSessions(5).lines(10))));
  for (std::size_t s = 0; s < set->sessions.size(); ++s) {
    const workload::TraceSession& session = set->sessions[s];
    workload::ReplayedAgent all{s, 0, {}, {}};
    for (std::size_t t = 0; t < session.turns.size(); ++t) {
      all.turns.push_back(static_cast<int>(t));
      all.outputs.push_back(1);
    }
    const workload::TracePrompts prompts(set, {all}, 1000);
    std::vector<std::vector<engine::TokenId>> made(session.turns.size());
    for (std::size_t t = 0; t < made.size(); ++t) {
      prompts.make(0, static_cast<int>(t), made[t]);
      CHECK(std::ranges::max(made[t]) < 1000);
    }
    for (std::size_t t = 1; t < made.size(); ++t) {
      const auto one = workload::ids_of(session, static_cast<int>(t));
      const auto two = workload::ids_of(session, static_cast<int>(t) - 1);
      const auto blocks = std::ranges::mismatch(one, two).in1 - one.begin();
      const auto tokens = std::ranges::mismatch(made[t], made[t - 1]).in1 - made[t].begin();
      // By chance, one token in a thousand is equal.
      CHECK(tokens >= 64 * blocks);
      CHECK(tokens < 64 * blocks + 5);
    }
  }
}

namespace {

constexpr const char* kChats =
    R"({"id": "a", "messages": [{"role": "system", "content": "be \"brief\"\n"}, )"
    R"({"role": "assistant", "content": "an example", "is_demo": true}, )"
    R"({"role": "user", "content": "\u00fcber \u2028 all \ud83d\ude00"}, )"
    R"({"role": "assistant", "content": null, "tool_calls": [)"
    R"({"function": {"name": "ls", "arguments": "{\"a\": [1, \"x\\ny\"]}"}}, )"
    R"({"function": {"name": "f", "arguments": "no json"}}, )"
    R"({"function": {"name": "g", "arguments": "\"5\""}}, {"function": {"name": "h"}}]}, )"
    R"({"role": "tool", "content": [{"type": "text", "text": "one"}, )"
    R"({"type": "text", "text": "two"}]}, {"role": "assistant", "content": "done"}], )"
    R"("turns": [{"tool": "ls", "exec_s": 0.25}, null]})"
    "\n"
    R"({"traj_id": "b", "messages": "[{\"role\": \"user\", \"content\": \"hi\"}, )"
    R"({\"role\": \"assistant\", \"content\": \"hello\"}]"})"
    "\n";

std::string messages_of(const std::string& path) {
  std::ostringstream out;
  workload::write_messages(path, "auto", out);
  return out.str();
}

}  // namespace

TEST_CASE("chats are read from the messages that are written as from the original", "[trace]") {
  const support::TempDir folder;
  const std::string original = folder.write("chats.jsonl", kChats);
  const std::string written = folder.write("written.jsonl", messages_of(original));
  const auto set = workload::read_trace(original);
  REQUIRE(set.sessions.size() == 2);
  REQUIRE(set.sessions[0].turns.size() == 2);
  check_same(set, workload::read_trace(written));
  CHECK(set.tools == workload::read_trace(written).tools);
  CHECK(messages_of(written) == messages_of(original));

  const auto tokenizer = workload::byte_estimate_tokenizer();
  workload::TrajectoryConfig config;
  config.path = original;
  config.gap.fallback_s = 1;
  config.gap.recorded = true;
  const auto jobs = workload::read_trajectories(config, *tokenizer).workload.jobs;
  config.path = written;
  const auto again = workload::read_trajectories(config, *tokenizer).workload.jobs;
  REQUIRE(jobs.size() == again.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    CHECK(jobs[i].tokens == again[i].tokens);
    CHECK(jobs[i].turns[0].gap == again[i].turns[0].gap);
  }
}

TEST_CASE("conversations of sharegpt are written as messages, those without an answer are not",
          "[trace]") {
  const support::TempDir folder;
  const std::string original = folder.write(
      "c.json",
      R"([{"id": "x", "conversations": [{"from": "human", "value": "why?"}, )"
      R"({"from": "gpt", "value": "because"}]}, )"
      R"({"conversations": [{"from": "human", "value": "well?"}]}, )"
      R"({"conversations": [{"from": "user", "value": "how?"}, {"from": "gpt", "value": "so"}]}])");
  const auto set = workload::read_trace(original);
  REQUIRE(set.sessions.size() == 2);
  check_same(set, workload::read_trace(folder.write("w.jsonl", messages_of(original))));
}

TEST_CASE("a trace without texts is not written as messages", "[trace]") {
  const support::TempDir folder;
  const std::string rows = folder.write(
      "t.jsonl", R"({"timestamp": 0, "input_length": 5, "output_length": 1, "hash_ids": [1]})"
                 "\n");
  CHECK_THROWS_WITH(messages_of(rows),
                    rows +
                        ": is mooncake, which holds no text, and format messages is text; "
                        "allowed: --to mooncake or weka");
}
