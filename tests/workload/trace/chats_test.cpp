// Chats that are recorded as text, read as traces.
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/trace/play.hpp"
#include "workers/workload/trace/read_trace.hpp"

using workload::TraceSet;
using workload::TraceTurn;

namespace {

TraceSet read(const std::string& text, const std::string& name = "t.jsonl") {
  const support::TempDir folder;
  return workload::read_trace(folder.write(name, text));
}

std::string refusal_of(const std::string& text) {
  try {
    read(text);
  } catch (const engine::InputError& error) {
    return error.what();
  }
  return "accepted";
}

const std::string kLong(400, 'x');

std::string said(const std::string& from, const std::string& value) {
  return R"({"from": ")" + from + R"(", "value": ")" + value + "\"}";
}

std::string conversation(const std::string& id, const std::string& messages) {
  return R"({"id": ")" + id + R"(", "conversations": [)" + messages + "]}";
}

const std::string kTwoTurns = said("human", kLong) + ", " + said("gpt", "yes") + ", " +
                              said("human", "more") + ", " + said("gpt", kLong);

/// Prompt and answer of a turn as they are replayed.
std::vector<engine::TokenId> tokens_of(const workload::PlayedTrace& played, std::uint32_t job,
                                       int turn) {
  std::vector<engine::TokenId> tokens;
  played.workload.prompts->make(job, turn, tokens);
  return tokens;
}

bool begins_with(const std::vector<engine::TokenId>& all,
                 const std::vector<engine::TokenId>& first) {
  return first.size() <= all.size() && std::equal(first.begin(), first.end(), all.begin());
}

}  // namespace

TEST_CASE("OpenAI messages are a session a line, with a turn for each answer", "[trace]") {
  const TraceSet set =
      read(R"({"id": "a", "messages": [{"role": "user", "content": "fix it"}, )"
           R"({"role": "assistant", "content": "look\n```bash\nls\n```"}, )"
           R"({"role": "tool", "content": "x"}, {"role": "assistant", "content": "done"}], )"
           R"("turns": [{"exec_s": 2.5}]})");
  CHECK(set.format == "messages");
  REQUIRE(set.sessions.size() == 1);
  REQUIRE(set.sessions[0].turns.size() == 2);
  const TraceTurn &first = set.sessions[0].turns[0], &second = set.sessions[0].turns[1];
  CHECK(set.tools.at(static_cast<std::size_t>(first.tool)) == "ls");
  CHECK(second.tool == -1);
  CHECK(second.think_s == 2.5);
  CHECK(second.waits_for == std::vector{0});
  CHECK(second.prompt_tokens > first.prompt_tokens + first.output_tokens);
  CHECK_THAT(set.notes.at(0), Catch::Matchers::Contains("byte estimate"));
}

TEST_CASE("ShareGPT may be a list, or an object a line", "[trace]") {
  const std::string a = conversation("a", kTwoTurns), b = conversation("b", kTwoTurns);
  for (const std::string& text :
       {a + "\n" + b + "\n", "[" + a + ", " + b + "]", "[\n  " + a + ",\n  " + b + "\n]\n"}) {
    const TraceSet set = read(text, "t.json");
    CHECK(set.format == "sharegpt");
    REQUIRE(set.sessions.size() == 2);
    CHECK(set.sessions[1].id == "b");
    CHECK(set.sessions[1].turns.size() == 2);
  }
}

TEST_CASE("conversations without an answer are left out, and said to be", "[trace]") {
  const TraceSet set =
      read("[" + conversation("a", said("human", "hello")) + ", " + conversation("b", "") + ", " +
           conversation("c", said("gpt", "hi") + ", " + kTwoTurns) + "]");
  REQUIRE(set.sessions.size() == 1);
  CHECK(set.sessions[0].turns.size() == 2);  // what comes before the first question is prompt
  CHECK_THAT(set.notes.back(), Catch::Matchers::StartsWith("2 conversations without an answer"));
}

TEST_CASE("a chat that cannot be read is refused at its message", "[trace]") {
  const auto check = [](const std::string& text, const std::string& problem) {
    CHECK_THAT(refusal_of(text), Catch::Matchers::Contains(problem));
  };
  check(conversation("a", R"({"value": "x"})"), "conversations[0] has no from");
  check(conversation("a", said("moon", "x")), "conversations[0].from is a string (\"moon\")");
  check(conversation("a", R"({"from": "human"})"), "conversations[0] has no value");
  check("[" + conversation("a", kTwoTurns) + ", {}]", "[1] has no conversations");
  check(conversation("a", kTwoTurns) + "\n" + conversation("a", kTwoTurns), "occurs twice");
  check(R"({"messages": []})", "has no job id");
}

TEST_CASE("a chat's prompt begins with its previous turn, answer included", "[trace]") {
  const auto set = std::make_shared<const TraceSet>(
      read(conversation("a", kTwoTurns) + "\n" +
           conversation("b", kTwoTurns + ", " + said("human", "x") + ", " + said("gpt", "y"))));
  const workload::PlayedTrace played = workload::play(set, {}, 1000);
  const auto first = tokens_of(played, 1, 0), second = tokens_of(played, 1, 1),
             third = tokens_of(played, 1, 2);
  CHECK(begins_with(second, first));
  CHECK(begins_with(third, second));
  // Chats that begin alike share whole blocks of 16 tokens, and nothing of what differs.
  const auto other = tokens_of(played, 0, 1);
  const auto same = std::mismatch(other.begin(), other.end(), third.begin()).first - other.begin();
  const auto prompt = set->sessions[0].turns[1].prompt_tokens;
  CHECK(same / 16 == prompt / 16);
}
