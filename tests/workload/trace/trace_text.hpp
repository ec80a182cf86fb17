#pragma once
#include <string>
#include <utility>
#include <vector>

namespace trace_test {

/// A turn as it is written: segments as (id as JSON, tokens), and further members (", \"gap_s\":
/// 2").
struct TurnText {
  std::vector<std::pair<std::string, int>> prompt;
  int answer = 1;
  std::string more = {};
};

/// Jobs in the format of docs/traces.md, with prompts that are written whole.
class TraceText {
 public:
  /// `more`: further members of the job (", \"arrival_s\": 1").
  TraceText& job(const std::string& id, const std::vector<TurnText>& turns,
                 const std::string& more = "") {
    std::string text;
    for (const TurnText& turn : turns) text += (text.empty() ? "" : ", ") + written(turn);
    lines_ += R"({"job": ")" + id + '"' + more + R"(, "turns": [)" + text + "]}\n";
    ++jobs_;
    arrivals_ += has(more, "arrival_s");
    return *this;
  }

  /// `said`: further members of the first line.
  std::string str(const std::string& said = "") const {
    const auto count = [](const char* name, int value) {
      return '"' + std::string(name) + "\": " + std::to_string(value);
    };
    return R"({"kvsweep_trace": 1, "converter": "test", "counts": {)" + count("jobs", jobs_) +
           ", " + count("turns", turns_) + ", " + count("prompt_tokens", prompt_tokens_) + ", " +
           count("answer_tokens", answer_tokens_) + ", " + count("arrivals", arrivals_) + ", " +
           count("gaps", gaps_) + ", " + count("starts", starts_) + "}" + said + "}\n" + lines_;
  }

 private:
  static int has(const std::string& members, const char* key) {
    return members.find('"' + std::string(key) + '"') != members.npos ? 1 : 0;
  }

  std::string written(const TurnText& turn) {
    std::string segments;
    for (const auto& [id, tokens] : turn.prompt) {
      segments += (segments.empty() ? "[" : ", [") + id + ", " + std::to_string(tokens) + "]";
      prompt_tokens_ += tokens;
    }
    ++turns_;
    answer_tokens_ += turn.answer;
    gaps_ += has(turn.more, "gap_s");
    starts_ += has(turn.more, "start_s");
    return R"({"prompt": [)" + segments + R"(], "answer": [[null, )" + std::to_string(turn.answer) +
           "]]" + turn.more + "}";
  }

  std::string lines_;
  int jobs_ = 0, turns_ = 0, prompt_tokens_ = 0, answer_tokens_ = 0;
  int arrivals_ = 0, gaps_ = 0, starts_ = 0;
};

/// One job of one turn.
inline std::string one_job(const std::string& id = "good") {
  return TraceText().job(id, {{{{"1", 200}}, 5}}).str();
}

}  // namespace trace_test
