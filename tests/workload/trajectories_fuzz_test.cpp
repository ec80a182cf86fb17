#include <random>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/workload/recording.hpp"

using Catch::Matchers::Contains;
using support::answering;
using support::refusal_of;
using support::row;

TEST_CASE("a deeply nested row is refused or read, never a crash", "[trajectories]") {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  CHECK_THAT(refusal_of(R"({"id": "a", "messages": )" + deep + "}"),
             Contains("messages[0] is a list"));
  const std::string call =
      R"("content": "", "tool_calls": [{"function": {"name": "f", "arguments": )";
  CHECK_THAT(refusal_of(answering(call + deep + "}}]")),
             Contains("arguments is nested too deeply"));
  CHECK(refusal_of(answering(call + "\"" + deep + "\"}}]")) == "accepted");
}

namespace {

/// Changes a valid line at random: bytes, pieces, or whole JSON values.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string mutated(std::string line) {
    const int changes = 1 + below(4);
    for (int i = 0; i < changes; ++i) {
      if (below(2) == 0) {
        change_bytes(line);
      } else {
        change_value(line);
      }
    }
    return line;
  }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint64_t>(bound)); }
  std::size_t position(const std::string& line) { return random_() % (line.size() + 1); }

  void change_bytes(std::string& line) {
    const std::size_t at = position(line);
    const std::size_t length = random_() % 9;
    switch (below(4)) {
      case 0:
        line.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 1:
        line.erase(at, length);
        break;
      case 2:
        line.insert(at, line.substr(position(line), length));
        break;
      default:
        line.resize(at);
    }
  }

  /// Puts another value in the place of one that stands after a colon.
  void change_value(std::string& line) {
    static const std::vector<std::string> kValues{
        "null", "true", "-1",     "1e308", "1e999",       "\"\"",         "\"x\"",
        "[]",   "{}",   "[null]", "[{}]",  "\"\\ud800\"", "{\"name\": 3}"};
    const std::size_t colon = line.find(": ", position(line));
    if (colon == line.npos) return;
    const std::size_t end = line.find_first_of(",}]", colon);
    if (end == line.npos) return;
    line.replace(colon + 2, end - colon - 2, kValues[random_() % kValues.size()]);
  }

  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("mutated rows are read or refused with the file's name, nothing else",
          "[trajectories][fuzz]") {
  const std::vector<std::string> lines{
      row("a", 3, R"(, "turns": [{"tool": "ls", "exec_s": 0.5}, {"exec_s": 1}])"),
      answering(
          R"("content": [{"type": "text", "text": "t"}], "tool_calls": [{"function": {"name": "cd", "arguments": "{}"}}])"),
      R"({"instance_id": "i", "messages": "[{\"role\": \"user\"}, {\"role\": \"assistant\"}]"})"};
  support::Recording recording(lines[0]);
  int refused = 0;
  const int runs = support::scaled(2000);
  for (int seed = 0; seed < runs; ++seed) {
    Mutator mutator(static_cast<std::uint64_t>(seed));
    recording.rewrite(mutator.mutated(lines[static_cast<std::size_t>(seed) % lines.size()]));
    const std::string refusal = recording.refusal();
    if (refusal == "accepted") continue;
    ++refused;
    INFO("seed " << seed << ": " << refusal);
    REQUIRE(refusal.starts_with("jobs.jsonl:"));
  }
  CHECK(refused > runs / 4);
  CHECK(refused < runs);
}
