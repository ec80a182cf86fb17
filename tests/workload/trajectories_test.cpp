#include "workers/workload/trajectories.hpp"

#include <cmath>

#include "tests/support/catch.hpp"
#include "tests/workload/recording.hpp"
#include "workers/workload/workload_report.hpp"

using namespace workload;
using Catch::Matchers::Contains;
using support::answering;
using support::Recording;
using support::refusal_of;
using support::row;

namespace {

std::vector<std::string> ids_of(const TrajectorySet& set) {
  std::vector<std::string> ids;
  for (const Job& job : set.workload.jobs) ids.push_back(job.id);
  return ids;
}

}  // namespace

TEST_CASE("a row becomes a job with its turns, tools and constant gaps", "[trajectories]") {
  Recording recording(row("job-1", 3));
  recording.config.gap.gap_s = 0.5;
  const TrajectorySet set = recording.read();
  REQUIRE(set.workload.jobs.size() == 1);
  const Job& job = set.workload.jobs[0];
  CHECK(job.id == "job-1");
  CHECK(job.turns.size() == 3);
  CHECK(set.workload.tools == std::vector<std::string>{"ls"});
  CHECK(job.turns[0].tool == engine::ToolId{0});
  CHECK(job.turns[1].gap == engine::from_seconds(0.5));
  CHECK(job.turns[2].gap == engine::Nanos{0});
  CHECK(set.workload.tokenizer == "words");
  CHECK(set.workload.source == "jobs.jsonl");
}

TEST_CASE("messages may be a list or its JSON text, and the id an instance_id", "[trajectories]") {
  const std::string messages =
      R"([{"role":"user","content":"go"},{"role":"assistant","content":"ok"}])";
  const Recording list(R"({"instance_id": "i", "messages": )" + messages + "}");
  const Recording text(R"({"instance_id": "i", "messages": )" + Json(messages).dump() + "}");
  CHECK(list.only_job().id == "i");
  CHECK(list.text(list.only_job()) == text.text(text.only_job()));
}

TEST_CASE("trajectories of one instance are distinguished by their traj_id", "[trajectories]") {
  const std::string messages =
      R"(, "messages": [{"role":"user","content":"go"},{"role":"assistant","content":"ok"}]})";
  const Recording recording(R"({"instance_id": "i", "traj_id": "i.1")" + messages + "\n" +
                            R"({"instance_id": "i", "traj_id": "i.2")" + messages);
  CHECK(ids_of(recording.read()) == std::vector<std::string>{"i.1", "i.2"});
}

TEST_CASE("a content is a string, null, or a list of texts", "[trajectories]") {
  const auto answer = [](const std::string& content) {
    const Recording recording(answering("\"content\": " + content));
    const std::string text = recording.text(recording.only_job());
    return text.substr(text.rfind("</h>\n\n") + 6);
  };
  CHECK(answer(R"("one two")") == "one two<eot>");
  CHECK(answer("null") == "<eot>");
  CHECK(answer(R"([{"type": "text", "text": "one"}, {"type": "text", "text": " two"}])") ==
        "one two<eot>");
}

TEST_CASE(
    "a tool call is written as what a model generates: name and arguments, without the server's id",
    "[trajectories]") {
  const Recording recording(answering(
      R"("content": "Let me look", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "cd", "arguments": "{\"path\": \"astropy/modeling\"}"}}])"));
  const Job job = recording.only_job();
  CHECK_THAT(recording.text(job),
             Catch::Matchers::EndsWith(
                 "Let me look\n{\"name\":\"cd\",\"arguments\":{\"path\":\"astropy/modeling\"}}"
                 "\n```bash\ncd\n```<eot>"));
  CHECK(recording.read().workload.tools == std::vector<std::string>{"cd"});
}

TEST_CASE("arguments that are no JSON are kept as the model wrote them", "[trajectories]") {
  const Recording recording(answering(
      R"("content": null, "tool_calls": [{"function": {"name": "cd", "arguments": "{oops"}}])"));
  CHECK_THAT(recording.text(recording.only_job()),
             Contains(R"({"name":"cd","arguments":"{oops"})"));
}

TEST_CASE("recorded tool times become gaps", "[trajectories]") {
  Recording recording(
      row("a", 3, R"(, "turns": [{"exec_s": 0.25}, {"exec_s": 2}, {"exec_s": 9}])"));
  recording.config.gap.recorded = true;
  const Job job = recording.only_job();
  CHECK(job.turns[0].gap == engine::from_seconds(0.25));
  CHECK(job.turns[1].gap == engine::from_seconds(2));
  CHECK(job.turns[2].gap == engine::Nanos{0});
}

TEST_CASE("a turn without a recorded time takes the fallback, or is refused with line and turn",
          "[trajectories]") {
  Recording recording(
      row("a", 1) +
      row("b", 3, R"(, "turns": [{"exec_s": 0.25}, {"tool": "ls", "exec_s": null}])"));
  recording.config.gap.recorded = true;
  CHECK_THAT(recording.refusal(),
             Contains("jobs.jsonl:2: job \"b\", turn 2 has no recorded tool time") &&
                 Contains("gap_fallback_s"));
  recording.config.gap.fallback_s = 1.5;
  CHECK(recording.read().workload.jobs[1].turns[1].gap == engine::from_seconds(1.5));
}

TEST_CASE("few-shot answers count neither as turns nor in the turns list", "[trajectories]") {
  Recording recording(
      R"({"id": "a", "messages": [{"role": "user", "content": "example"}, )"
      R"({"role": "assistant", "content": "x", "is_demo": true}, )"
      R"({"role": "assistant", "content": "y", "tool": "demo"}, {"role": "user", "content": "go"}, )"
      R"({"role": "assistant", "content": "one"}, {"role": "assistant", "content": "two"}], )"
      R"("turns": [{"exec_s": 3}, {}]})");
  recording.config.gap.recorded = true;
  const Job job = recording.only_job();
  REQUIRE(job.turns.size() == 2);
  CHECK(job.turns[0].gap == engine::from_seconds(3));
}

TEST_CASE("the parser's tool word wins over the recorded one, and disagreements are counted",
          "[trajectories]") {
  const Recording recording(row("a", 3, R"(, "turns": [{"tool": "ls"}, {"tool": "list"}, {}])"));
  const TrajectorySet set = recording.read();
  CHECK(set.workload.tools == std::vector<std::string>{"ls"});
  CHECK(set.tools_recorded == 2);
  CHECK(set.tools_unlike_record == 1);
}

TEST_CASE("curation takes the first jobs that qualify and counts why others are left out",
          "[trajectories]") {
  Recording recording(row("e", 9) + row("d", 2) + row("c", 3) + row("b", 1) + row("a", 3) +
                      row("f", 3));
  recording.config.curation = {.count = 2, .min_turns = 2, .max_turns = 5, .order = JobOrder::id};
  const TrajectorySet set = recording.read();
  CHECK(ids_of(set) == std::vector<std::string>{"a", "c"});
  CHECK(set.rejected ==
        Rejections{.too_few_turns = 1, .too_many_turns = 1, .over_context = 0, .not_needed = 2});
  CHECK(set.rows == 6);
}

TEST_CASE("a job over the curation's context is left out, at the limit it is taken",
          "[trajectories]") {
  Recording recording(row("a", 2) + row("b", 3));
  const auto longest = static_cast<int>(recording.read().workload.jobs[1].tokens.size());
  recording.config.curation.max_context = longest;
  CHECK(ids_of(recording.read()).size() == 2);
  recording.config.curation.max_context = longest - 1;
  CHECK(ids_of(recording.read()) == std::vector<std::string>{"a"});
  CHECK(recording.read().rejected.over_context == 1);
}

TEST_CASE("a chosen job over the model's limit is refused unless a rule leaves it out",
          "[trajectories]") {
  Recording recording(row("a", 2) + row("b", 30));
  recording.config.model_context = 100;
  CHECK_THAT(recording.refusal(), Contains("jobs.jsonl:2: job \"b\" grows to ") &&
                                      Contains("over the model's limit of 100") &&
                                      Contains("max_context"));
  recording.config.curation.max_context = 100;
  CHECK(ids_of(recording.read()) == std::vector<std::string>{"a"});
}

TEST_CASE("too few jobs are refused with how many qualify and why the others do not",
          "[trajectories]") {
  Recording recording(row("a", 1) + row("b", 1) + row("c", 3));
  recording.config.curation = {.count = 2, .min_turns = 2};
  CHECK_THAT(recording.refusal(), Contains("jobs.jsonl: 1 of 3 jobs qualify, 2 are needed") &&
                                      Contains("2 with too few turns"));
  recording.config.curation = {.min_turns = 4};
  CHECK_THAT(recording.refusal(), Contains("0 of 3 jobs qualify"));
}

TEST_CASE("a bad row is refused with its line and the field that is wrong", "[trajectories]") {
  const std::string good = row("good", 1);
  CHECK_THAT(refusal_of(good + "{\"id\": \"a\", \"messages\": ["),
             Contains("jobs.jsonl:2:26: not valid JSON"));
  CHECK_THAT(refusal_of(good + "[]"),
             Contains("jobs.jsonl:2: the line is a list; allowed: an object"));
  CHECK_THAT(refusal_of(good + "{}"), Contains("jobs.jsonl:2: the line has no job id"));
  CHECK_THAT(refusal_of(R"({"id": 7})"),
             Contains("jobs.jsonl:1: id is a number (7); allowed: a string"));
  CHECK_THAT(refusal_of(R"({"id": "a"})"), Contains("the line has no messages"));
  CHECK_THAT(refusal_of(R"({"id": "a", "messages": "oops"})"),
             Contains("messages is a string that is not valid JSON"));
  CHECK_THAT(refusal_of(R"({"id": "a", "messages": 1})"),
             Contains("messages is a number (1); allowed: a list"));
  CHECK_THAT(refusal_of(R"({"id": "a", "messages": [1]})"),
             Contains("messages[0] is a number (1); allowed: an object"));
  CHECK_THAT(refusal_of(R"({"id": "a", "messages": [{"role": "robot"}]})"),
             Contains("messages[0].role is a string (\"robot\"); allowed: \"system\", \"user\", "
                      "\"assistant\" or"));
  CHECK_THAT(refusal_of(answering("\"content\": 42")),
             Contains("messages[1].content is a number (42); allowed: a string"));
  CHECK_THAT(refusal_of(answering(R"("content": [{"type": "image_url"}])")),
             Contains("messages[1].content[0].type"));
  CHECK_THAT(refusal_of(answering(R"("tool_calls": [{}])")),
             Contains("messages[1].tool_calls[0] has no function.name"));
  CHECK_THAT(refusal_of(row("a", 1, R"(, "turns": [{"exec_s": "fast"}])")),
             Contains("turns[0].exec_s is a string (\"fast\"); allowed: a number from 0"));
  CHECK_THAT(refusal_of(row("a", 1, R"(, "turns": [{"exec_s": -1}])")),
             Contains("turns[0].exec_s is a number (-1)"));
  CHECK_THAT(refusal_of(row("a", 1, R"(, "turns": [{}, {}])")),
             Contains("turns has 2 entries for 1 assistant messages"));
}

TEST_CASE("a trajectory without an answer, or with one before any question, is refused",
          "[trajectories]") {
  CHECK_THAT(refusal_of(R"({"id": "a", "messages": []})"), Contains("the trajectory is empty"));
  CHECK_THAT(refusal_of(R"({"id": "a", "messages": [{"role": "user", "content": "go"}]})"),
             Contains("jobs.jsonl:1: messages hold no assistant message"));
  CHECK_THAT(
      refusal_of(
          R"({"id": "a", "messages": [{"role": "system"}, {"role": "assistant", "content": "x"}]})"),
      Contains("jobs.jsonl:1: messages[1] is an assistant message with no user message before it"));
}

TEST_CASE("a duplicate job id is refused with both lines", "[trajectories]") {
  CHECK_THAT(refusal_of(row("a", 1) + row("b", 1) + row("a", 2)),
             Contains("jobs.jsonl:3: job \"a\" stands on line 1 already"));
}

TEST_CASE("a file of blank lines holds no job", "[trajectories]") {
  CHECK_THAT(refusal_of("\n\n"), Contains("jobs.jsonl: holds no job"));
}

TEST_CASE("impossible gaps are refused", "[trajectories]") {
  Recording recording(row("a", 2));
  recording.config.gap.gap_s = -1;
  CHECK_THROWS_WITH(recording.read(), Contains("gap_s is -1") && Contains("allowed: 0 to"));
  recording.config.gap.gap_s = std::nan("");
  CHECK_THROWS_AS(recording.read(), engine::InputError);
}

TEST_CASE("the matched selection of 100 jobs has its known turns and token medians",
          "[trajectories][shared]") {
  const auto file = support::shared_path("data/trajectories/matched100.jsonl.xz");
  const auto vocabulary = support::shared_path("data/tokenizers/cl100k_base.tiktoken");
  if (!file || !vocabulary)
    SKIP_TEST("no matched100.jsonl.xz with cl100k_base.tiktoken beside the checkout");
  TrajectoryConfig config;
  config.path = file->string();
  config.model_context = 16384;
  const DatasetTable table =
      dataset_table(read_trajectories(config, *load_tokenizer(vocabulary->string())).workload);
  CHECK(table.jobs == 100);
  CHECK(table.turns == 1790);
  CHECK(table.prompt_tokens.p50 == Approx(6944).epsilon(0.03));
  CHECK(table.new_tokens.p50 == Approx(80).epsilon(0.05));
  CHECK(table.output_tokens.p50 == Approx(78).epsilon(0.05));
}

TEST_CASE("real SWE-smith jobs with XML calls and with tool calls are read",
          "[trajectories][shared]") {
  const auto file = support::shared_path("data/trajectories/swesmith_real.jsonl.xz");
  const auto vocabulary = support::shared_path("data/tokenizers/cl100k_base.tiktoken");
  if (!file || !vocabulary)
    SKIP_TEST("no swesmith_real.jsonl.xz with cl100k_base.tiktoken beside the checkout");
  TrajectoryConfig config;
  config.path = file->string();
  config.gap = {.recorded = true, .fallback_s = 1.0};
  const TrajectorySet set = read_trajectories(config, *load_tokenizer(vocabulary->string()));
  const DatasetTable table = dataset_table(set.workload);
  CHECK(table.jobs == 9);
  CHECK(table.turns == 236);
  CHECK(table.prompt_tokens.p50 == Approx(11697).epsilon(0.03));
  CHECK(table.output_tokens.p50 == Approx(60).epsilon(0.05));
  CHECK(table.gap_s.min < 0.2);
  CHECK(table.tools.front().tool == "str_replace_editor");
}

TEST_CASE("a deeply nested row is refused or read, never a crash", "[trajectories]") {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  const std::string deep = nested(200'000);
  CHECK_THAT(refusal_of(R"({"id": "a", "messages": )" + deep + "}"),
             Contains("jobs.jsonl:1: not valid JSON: is nested too deeply; allowed: 256 levels"));
  const std::string call =
      R"("content": "", "tool_calls": [{"function": {"name": "f", "arguments": )";
  CHECK_THAT(refusal_of(answering(call + nested(100) + "}}]")),
             Contains("arguments is nested too deeply"));
  CHECK(refusal_of(answering(call + "\"" + deep + "\"}}]")) == "accepted");
}
