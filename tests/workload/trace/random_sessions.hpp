#pragma once
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/workload/trace/trace_text.hpp"

namespace trace_test {

/// Traces with the habits of recorded coding agents: prompts that grow, some of which lose their
/// end first, and subagents with prompts of their own.
class RandomSessions {
 public:
  explicit RandomSessions(unsigned seed, int block = 64, int most_blocks = 40)
      : random_(seed), block_(block), most_blocks_(most_blocks) {}

  std::string lines(int sessions) {
    TraceText text;
    for (int i = 0; i < sessions; ++i) text.job("s" + std::to_string(i), session());
    return text.str();
  }

 private:
  using Ids = std::vector<int>;
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  std::vector<TurnText> session() {
    std::vector<TurnText> made;
    Ids prompt;
    std::string waits;  // of the next turn of the root
    double t = 0;
    for (int turn = 2 + below(6); turn > 0; --turn) {
      made.push_back(request(prompt, t, waits.empty() ? "" : ", \"after\": [" + waits + "]"));
      const int by = static_cast<int>(made.size()) - 1;
      waits = std::to_string(by);
      t += 5;
      for (int children = below(8) == 0 ? 1 + below(2) : 0; children > 0; --children) {
        subagent(made, by, t);
        waits += ", " + std::to_string(made.size() - 1);
        t += 30;
      }
    }
    return made;
  }

  void subagent(std::vector<TurnText>& made, int by, double t) {
    Ids prompt;
    const std::string agent = ", \"agent\": \"a" + std::to_string(made.size()) + '"';
    for (int turn = 0, turns = 1 + below(3); turn < turns; ++turn) {
      const int wait = turn == 0 ? by : static_cast<int>(made.size()) - 1;
      made.push_back(request(prompt, t + 0.5 + 5.0 * turn,
                             agent + ", \"after\": [" + std::to_string(wait) + "]"));
    }
  }

  /// Grows `prompt`, or cuts it first.
  TurnText request(Ids& prompt, double t, const std::string& more) {
    if (below(5) == 0) prompt.resize(prompt.size() / 2);
    const int fresh = 1 + below(std::max(1, most_blocks_ / 8));
    for (int i = 0; i < fresh && static_cast<int>(prompt.size()) < most_blocks_; ++i)
      prompt.push_back(next_id_++);
    TurnText turn;
    for (const int id : prompt) turn.prompt.emplace_back(std::to_string(id), block_);
    if (const int rest = below(block_); rest > 0) turn.prompt.emplace_back("null", rest);
    turn.answer = 1 + below(20);
    turn.more = more + ", \"start_s\": " + std::to_string(t) +
                ", \"api_s\": 2, \"gap_s\": " + std::to_string(below(3));
    return turn;
  }

  std::mt19937 random_;
  int block_, most_blocks_;
  int next_id_ = 1;
};

}  // namespace trace_test
