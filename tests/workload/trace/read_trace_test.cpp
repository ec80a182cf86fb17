#include "workers/workload/trace/read_trace.hpp"

#include <cmath>
#include <fstream>
#include <set>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/workload/trace/trace_text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/trace/play.hpp"
#include "workers/workload/workload_report.hpp"

using trace_test::TraceText;
using workload::Segment;
using workload::SegmentKind;
using workload::TraceSet;

namespace {

TraceSet read(const std::string& text) {
  const support::TempDir folder;
  return workload::read_trace(folder.write("t.jsonl", text));
}

workload::PlayedTrace played(const std::string& text) {
  return workload::play(std::make_shared<TraceSet>(read(text)), {}, 0);
}

/// The prompt and answer of a job's turn.
std::vector<engine::TokenId> tokens_of(const workload::PlayedTrace& trace, std::uint32_t job,
                                       int turn) {
  std::vector<engine::TokenId> tokens;
  trace.workload.prompts->make(job, turn, tokens);
  return tokens;
}

/// Leading tokens that two turns share.
int shared(const std::vector<engine::TokenId>& a, const std::vector<engine::TokenId>& b) {
  return static_cast<int>(std::ranges::mismatch(a, b).in1 - a.begin());
}

/// The lines of JSON in docs/traces.md.
std::string documented_example() {
  std::ifstream page("docs/traces.md");
  std::string text, line;
  while (std::getline(page, line)) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (line.starts_with("    {\"kvsweep_trace\"") || line.starts_with("    {\"job\""))
      text += line.substr(begin) + '\n';
  }
  return text;
}

/// The file with the counts that it holds, and this as the only job's turns.
std::string turns(const std::string& text) {
  return TraceText().str() + R"({"job": "a", "turns": [)" + text + "]}\n";
}

const std::string kTurn = R"({"prompt": [[1, 20]], "answer": [[null, 4]]})";

/// Expects one line that names the file and says `problem`.
void check_refused(const std::string& text, const std::string& problem) {
  INFO(text);
  try {
    read(text);
    FAIL("accepted");
  } catch (const engine::InputError& error) {
    const std::string what = error.what();
    CHECK_THAT(what, Catch::Matchers::Contains(problem));
    CHECK(what.find("t.jsonl") != what.npos);
    CHECK(what.find('\n') == what.npos);
  }
}

}  // namespace

TEST_CASE("the example of the documentation is read as it says", "[trace]") {
  const TraceSet set = read(documented_example());
  REQUIRE(set.sessions.size() == 2);
  const auto& session = set.sessions[0];
  CHECK(session.id == "a");
  CHECK(session.arrival_s == 0);
  CHECK(set.sessions[1].arrival_s == 12.5);
  REQUIRE(session.turns.size() == 3);
  CHECK(session.turns[1].prompt_tokens == 1100 + 80 + 300);
  CHECK(session.turns[1].think_s == 2.5);
  CHECK(session.turns[2].waits_for == std::vector{1});
  CHECK(session.agents.at(1).name == "search");
  CHECK(set.tools == std::vector<std::string>{"bash"});
  CHECK(set.tokenizer == "cl100k_base.tiktoken");
  CHECK(set.assumed == "t.jsonl: assumed: jobs arrive when the first of their requests did");
  CHECK(set.notes.at(1) == "left out: 3 failed requests (they have no answer)");
}

TEST_CASE("prompts share exactly the segments that they share", "[trace]") {
  const auto trace = played(documented_example());
  // Jobs: the root of a, its subagent, and b.
  const auto first = tokens_of(trace, 0, 0), second = tokens_of(trace, 0, 1),
             agent = tokens_of(trace, 1, 0), other = tokens_of(trace, 2, 0);
  CHECK(shared(first, second) == 1100 + 80);
  CHECK(shared(first, agent) == 450);
  CHECK(shared(first, other) == 900);
  CHECK(std::set<engine::TokenId>(first.begin(), first.end()).size() > 1000);
}

TEST_CASE("a prompt may extend a part of an earlier turn, or be written whole", "[trace]") {
  const std::string first = R"({"prompt": [["a", 30], ["b", 30]], "answer": [["c", 10]]}, )";
  const auto second = [&](const std::string& prompt) {
    return R"({"kvsweep_trace": 1, "converter": "t", "counts": {"jobs": 1, "turns": 2, )"
           R"("prompt_tokens": )" +
           std::to_string(60 + 75) +
           R"(, "answer_tokens": 11, "arrivals": 0, "gaps": 0, "starts": 0}})"
           "\n"
           R"({"job": "j", "turns": [)" +
           first + "{" + prompt + R"(, "answer": [[null, 1]]}]})";
  };
  const auto whole = played(second(R"("prompt": [["a", 30], ["b", 30], ["c", 10], ["d", 5]])"));
  const auto extending = played(second(R"("extends": 0, "prompt": [["d", 5]])"));
  const auto part = played(second(R"("extends": [0, 65], "prompt": [["d", 10]])"));
  CHECK(tokens_of(whole, 0, 1) != tokens_of(part, 0, 1));
  CHECK(tokens_of(whole, 0, 1) == tokens_of(extending, 0, 1));
  CHECK(shared(tokens_of(whole, 0, 1), tokens_of(part, 0, 1)) == 65);
  for (const auto* trace : {&whole, &extending})
    CHECK(computed_before(trace->workload.jobs[0], 1) == 69);  // the last was sampled
  CHECK(computed_before(part.workload.jobs[0], 1) == 65);
}

TEST_CASE("ids that are text, numbers or null are different, and null is like no other",
          "[trace]") {
  const auto trace = played(TraceText()
                                .job("a", {{{{"1", 40}}}})
                                .job("b", {{{{"\"1\"", 40}}}})
                                .job("c", {{{{"null", 40}}}})
                                .job("d", {{{{"null", 40}}}})
                                .job("e", {{{{"1", 25}, {"2", 15}}}})
                                .str());
  std::set<std::vector<engine::TokenId>> different;
  for (std::uint32_t job = 0; job < 5; ++job) different.insert(tokens_of(trace, job, 0));
  CHECK(different.size() == 5);
  CHECK(shared(tokens_of(trace, 0, 0), tokens_of(trace, 4, 0)) == 25);
}

TEST_CASE("a token budget adds up by the labels of the segments", "[trace]") {
  const std::string text =
      R"({"kvsweep_trace": 1, "converter": "t", "counts": {"jobs": 1, "turns": 2, )"
      R"("prompt_tokens": 4257, "answer_tokens": 68, "arrivals": 0, "gaps": 1, "starts": 0}})"
      "\n"
      R"({"job": "j", "turns": [{"prompt": [["s", 604, "system"], ["u", 1498, "user"]], )"
      R"("answer": [[null, 20], [null, 15, "tool_call"], [null, 5, "synthesized"]], )"
      R"("tool": "cd"}, {"extends": 0, "gap_s": 1, "prompt": [[null, 10, "tool_result"], )"
      R"([null, 3, "role"]], "answer": [[null, 10], [null, 13, "tool_call"], )"
      R"([null, 5, "synthesized"]]}]})";
  const auto trace = played(text);
  workload::Job job = trace.workload.jobs[0];
  job.segments = trace.workload.prompts->segments(0, 1);
  const auto budget = workload::token_budget(job, 1, {});
  std::vector<std::pair<std::string, int>> parts;
  for (const auto& part : budget.input) parts.emplace_back(part.name, part.tokens);
  CHECK(parts ==
        std::vector<std::pair<std::string, int>>{{"system prompt", 604},
                                                 {"user", 1498},
                                                 {"turn 1 assistant text + tool_calls JSON", 35},
                                                 {"turn 1 synthesized bash block", 5},
                                                 {"turn 1 tool response", 10},
                                                 {"turn 2 assistant role prefix", 3}});
  CHECK(budget.output.size() == 3);
  CHECK(budget.prompt_tokens == 2155);
}

TEST_CASE("sessions by their number of turns are left out, and counted", "[trace]") {
  const std::string turn = "1";
  TraceText text;
  for (int turns = 1; turns <= 5; ++turns)
    text.job("j" + std::to_string(turns),
             std::vector<trace_test::TurnText>(static_cast<std::size_t>(turns), {{{turn, 10}}}));
  const auto set = std::make_shared<TraceSet>(read(text.str()));
  workload::PlayRules rules;
  rules.min_turns = 2;
  rules.max_turns = 4;
  const auto left = workload::play(set, rules, 0);
  CHECK(left.workload.jobs.size() == 3);
  CHECK(left.left_out == "2 by workload.min_turns and max_turns");
}

TEST_CASE("what a trace does not allow is refused with its line and turn", "[trace]") {
  check_refused(
      turns(R"({"prompt": [[1, 0]], "answer": [[null, 4]]})"),
      "t.jsonl:2: turns[0]: a segment's length is 0; allowed: a whole number from 1 to 67108864");
  check_refused(turns(R"({"prompt": [[-1, 9]], "answer": [[null, 4]]})"),
                ":2: turns[0]: a segment's id is -1; allowed: a whole number from 0 to");
  check_refused(turns(R"({"prompt": [[1.5, 9]], "answer": [[null, 4]]})"), "a segment's id is 1.5");
  check_refused(turns(R"({"prompt": [[1]], "answer": [[null, 4]]})"),
                ":2: turns[0]: a segment has no length");
  check_refused(turns(R"({"prompt": [[1, 2, "user", 3]], "answer": [[null, 4]]})"),
                "more than [id, length, label]");
  check_refused(turns(R"({"prompt": [[1, 2, "usr"]], "answer": [[null, 4]]})"),
                ":2: turns[0]: a segment's label is \"usr\"; allowed: system, user, assistant");
  check_refused(turns(R"({"prompt": [], "answer": [[null, 4]]})"), "the turn's prompt is empty");
  check_refused(turns(R"({"prompt": [[1, 2]], "answer": []})"), "the turn's answer is empty");
  check_refused(turns(R"({"prompt": [[1, 2]]})"), ":2: turns[0]: the turn has no answer");
  check_refused(turns(R"({"answer": [[1, 2]]})"), "the turn has no prompt");
  check_refused(turns(R"({"prompt": "text", "answer": [[1, 2]]})"),
                ":2: turns[0]: prompt is \"text\"; allowed: a list");
  check_refused(turns(R"({"promt": [[1, 2]]})"),
                "a turn has no \"promt\"; allowed: prompt, answer");
  check_refused(turns(R"({"prompt": [[1, 67108864]], "answer": [[null, 4]]})"),
                "the turn has 67108868 tokens; allowed: 67108864");
  check_refused(turns(R"({"prompt": [["", 2]], "answer": [[null, 4]]})"), "a string of 1 to 200");
}

TEST_CASE("waits, agents and extensions are of earlier turns", "[trace]") {
  const auto second = [](const std::string& members) {
    return turns(kTurn + R"(, {"prompt": [[1, 20]], "answer": [[null, 4]], )" + members + "}");
  };
  check_refused(second(R"("after": [1])"), "after is 1; allowed: a whole number from 0 to 0");
  check_refused(second(R"("after": [])"), "after is empty");
  check_refused(second(R"("extends": 1)"), "extends is 1; allowed: a whole number from 0 to 0");
  check_refused(second(R"("extends": [0, 25])"),
                "tokens of the extended turn is 25; allowed: a whole number from 1 to 24");
  check_refused(second(R"("extends": [0])"), "extends has no tokens");
  check_refused(second(R"("gap_s": -1)"), "gap_s is -1; allowed: a number from 0 to 1e+09");
  check_refused(second(R"("gap_s": "1")"), "gap_s is \"1\"; allowed: a number");
  check_refused(second(R"("agent": 3)"), "agent is 3; allowed: a string of 1 to 200 bytes");
  check_refused(turns(R"({"extends": 0, "prompt": [[1, 2]], "answer": [[1, 2]]})"),
                "no turn stands above the first");
  check_refused(turns(R"({"start_s": 5, "prompt": [[1, 2]], "answer": [[1, 2]]}, )"
                      R"({"start_s": 4, "prompt": [[1, 2]], "answer": [[1, 2]]})"),
                "start_s lies before that of its agent's turn before");
}

TEST_CASE("a file that is no trace, is cut or was edited is refused", "[trace]") {
  const std::string good = TraceText().job("a", {{{{"1", 9}}}}).job("b", {{{{"1", 9}}}}).str();
  CHECK(read(good).sessions.size() == 2);
  check_refused(good.substr(0, good.find("{\"job\": \"b\"")),
                "t.jsonl:1: counts.jobs is 2, but the file holds 1: it is cut, or was edited");
  check_refused(good.substr(0, good.size() - 4), ":3:");
  check_refused(good + R"({"job": "a", "turns": [)" + kTurn + "]}",
                ":4: job \"a\" stands on a line above already");
  check_refused(good + R"({"jobs": "a"})", "a job has no \"jobs\"; allowed: job, arrival_s, turns");
  check_refused(good + R"({"job": "c", "turns": []})", "the job has no turns");
  check_refused(good + R"({"turns": []})", "the line has no job");
  check_refused(good + "[1]", "the line is a list; allowed: an object");
  check_refused("hello\n", "python3 -m kvsweep.traces FILE -o T.jsonl.gz");
  check_refused(R"({"messages": []})", "is no trace of kvsweep");
  check_refused(R"({"kvsweep_trace": 2, "counts": {}})", ":1: kvsweep_trace must be 1");
  check_refused(R"({"kvsweep_trace": 1})", "has no counts");
  check_refused(R"({"kvsweep_trace": 1, "counts": {"jobs": 1}})", ":1: counts has no turns");
  check_refused(TraceText().str(), "holds no job");
}

TEST_CASE("escapes, blanks and any order of members are JSON, too", "[trace]") {
  const TraceSet set = read(
      TraceText()
          .job("x", {{{{"1", 9}}}})
          .str()
          .substr(0, TraceText().job("x", {{{{"1", 9}}}}).str().find("\n{") + 1) +
      "\t{ \"turns\" : [ { \"answer\" : [ [ null , 1 ] ] , \"prompt\":[[\"\\u00e9\\n\",9]] } ] ,\r"
      "\"job\":\"\\\"q\\\\\" }\n");
  REQUIRE(set.sessions.size() == 1);
  CHECK(set.sessions[0].id == "\"q\\");
}
