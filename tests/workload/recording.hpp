#pragma once
#include <algorithm>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/workload/word_tokenizer.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/input/json_lines.hpp"
#include "workers/workload/trajectories.hpp"

namespace support {

/// A row with `turns` answers that call `ls`; each except the last is followed by a tool message.
inline std::string row(const std::string& id, int turns, const std::string& more = "") {
  workload::Json messages = workload::Json::array({{{"role", "user"}, {"content", "fix it"}}});
  for (int k = 0; k < turns; ++k) {
    if (k > 0) messages.push_back({{"role", "tool"}, {"content", "result"}});
    messages.push_back({{"role", "assistant"}, {"content", "look\n```bash\nls\n```"}});
  }
  return "{\"id\": \"" + id + "\", \"messages\": " + messages.dump() + more + "}\n";
}

/// One file of rows, and the rule that reads it.
class Recording {
 public:
  explicit Recording(const std::string& text) { rewrite(text); }

  void rewrite(const std::string& text) { config.path = folder_.write("jobs.jsonl", text); }

  workload::TrajectorySet read() const { return workload::read_trajectories(config, tokenizer_); }
  workload::Job only_job() const {
    workload::TrajectorySet set = read();
    REQUIRE(set.workload.jobs.size() == 1);
    return set.workload.jobs[0];
  }
  std::string text(const workload::Job& job) const {
    return tokenizer_.decode(job.tokens, 0, static_cast<int>(job.tokens.size()));
  }
  /// The message that refuses the file, from its name on.
  std::string refusal() const {
    try {
      read();
    } catch (const engine::InputError& error) {
      const std::string message = error.what();
      return message.substr(std::min(message.find("jobs.jsonl"), message.size()));
    }
    return "accepted";
  }

  workload::TrajectoryConfig config;

 private:
  TempDir folder_;
  WordTokenizer tokenizer_;
};

inline std::string refusal_of(const std::string& text) { return Recording(text).refusal(); }

/// A row with these members in its assistant message, besides the role.
inline std::string answering(const std::string& members) {
  return R"({"id": "a", "messages": [{"role": "user", "content": "go"}, {"role": "assistant", )" +
         members + "}]}\n";
}

}  // namespace support
