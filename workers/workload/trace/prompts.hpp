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

/// Token ids for prompts that are known by their segments. A token is a pure function of its
/// segment's key and its place in the segment.
class TracePrompts final : public PromptSource {
 public:
  /// `vocabulary`: ids are below it; 0: below 2^17.
  TracePrompts(std::shared_ptr<const TraceSet> set, std::vector<ReplayedAgent> agents,
               std::uint32_t vocabulary);

  void make(std::uint32_t job, int turn, std::vector<engine::TokenId>& tokens) const override;
  std::vector<Segment> segments(std::uint32_t job, int turn) const override;

 private:
  std::shared_ptr<const TraceSet> set_;
  std::vector<ReplayedAgent> agents_;  // by job
  std::uint32_t vocabulary_;
};

}  // namespace workload
