#pragma once
#include <memory>
#include <vector>

#include "workers/workload/trace/session.hpp"
#include "workers/workload/trajectory.hpp"

namespace workload {

/// One agent of a session as it is replayed.
struct ReplayedAgent {
  std::size_t session = 0;   // in the set
  std::uint64_t replay = 0;  // sessions of different replays share no tokens
  std::vector<int> turns;    // of the session
  std::vector<int> outputs;  // answer tokens of each
};

/// Token ids for prompts that are known by the ids of their blocks. A block's tokens are a pure
/// function of its id and what ids mean there; tokens without an id are a function of the session,
/// the turn which they first occur in, and their position. Answers occur nowhere else, except in
/// the later prompts of a transcript.
class TracePrompts final : public PromptSource {
 public:
  /// `vocabulary`: ids are below it; 0: below 2^17.
  TracePrompts(std::shared_ptr<const TraceSet> set, std::vector<ReplayedAgent> agents,
               std::uint32_t vocabulary);

  void make(std::uint32_t job, int turn, std::vector<engine::TokenId>& tokens) const override;

 private:
  std::shared_ptr<const TraceSet> set_;
  std::vector<ReplayedAgent> agents_;  // by job
  std::uint32_t vocabulary_;
};

}  // namespace workload
