#pragma once
#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace trace_test {

/// Sessions in the Weka format with the habits of recorded ones: prompts that grow, some of which
/// lose their end first, and subagents with prompts of their own.
class RandomSessions {
 public:
  explicit RandomSessions(unsigned seed, int block = 64, int most_blocks = 40)
      : random_(seed), block_(block), most_blocks_(most_blocks) {}

  std::string lines(int sessions) {
    std::string text;
    for (int i = 0; i < sessions; ++i) text += session("s" + std::to_string(i)) + "\n";
    return text;
  }

 private:
  using Ids = std::vector<int>;
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  std::string session(const std::string& id) {
    next_id_ = 1;
    std::string requests;
    Ids prompt;
    double t = 0;
    for (int turn = 2 + below(6); turn > 0; --turn) {
      requests += (requests.empty() ? "" : ",") + request(prompt, t);
      t += 5;
      for (int children = below(8) == 0 ? 1 + below(2) : 0; children > 0; --children) {
        requests += "," + subagent(t);
        t += 30;
      }
    }
    return R"({"id": ")" + id + R"(", "block_size": )" + std::to_string(block_) +
           R"(, "hash_id_scope": "local", "requests": [)" + requests + "]}";
  }

  std::string subagent(double t) {
    std::string requests;
    Ids prompt;
    for (int turn = 0, turns = 1 + below(3); turn < turns; ++turn)
      requests += (turn > 0 ? "," : "") + request(prompt, 5.0 * turn);
    return R"({"type": "subagent", "agent_id": "a", "t": )" + std::to_string(t + 0.5) +
           R"(, "duration_ms": 20000, "requests": [)" + requests + "]}";
  }

  /// Grows `prompt`, or cuts it first.
  std::string request(Ids& prompt, double t) {
    if (below(5) == 0) prompt.resize(prompt.size() / 2);
    const int more = 1 + below(std::max(1, most_blocks_ / 8));
    for (int i = 0; i < more && static_cast<int>(prompt.size()) < most_blocks_; ++i)
      prompt.push_back(next_id_++);
    const int tokens = static_cast<int>(prompt.size()) * block_ + below(block_);
    std::string ids;
    for (const int id : prompt) ids += (ids.empty() ? "" : ", ") + std::to_string(id);
    return R"({"type": "n", "t": )" + std::to_string(t) + R"(, "in": )" + std::to_string(tokens) +
           R"(, "out": )" + std::to_string(1 + below(20)) + R"(, "hash_ids": [)" + ids +
           R"(], "api_time": 2, "think_time": )" + std::to_string(below(3)) + "}";
  }

  std::mt19937 random_;
  int block_, most_blocks_;
  int next_id_ = 1;
};

}  // namespace trace_test
