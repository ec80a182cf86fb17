#pragma once
#include <algorithm>
#include <memory>
#include <span>
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
               std::uint32_t vocabulary)
      : set_(std::move(set)),
        agents_(std::move(agents)),
        vocabulary_(vocabulary > 0 ? vocabulary : kUsualVocabulary) {}

  void make(std::uint32_t job, int turn, std::vector<engine::TokenId>& tokens) const override {
    const ReplayedAgent& agent = agents_[job];
    const TraceSession& session = set_->sessions[agent.session];
    const auto at = static_cast<std::size_t>(turn);
    const int number = agent.turns[at];
    const int prompt = session.turns[static_cast<std::size_t>(number)].prompt_tokens;
    tokens.resize(static_cast<std::size_t>(prompt + agent.outputs[at]));
    visit_segments(session, number, 0, tokens.size(),
                   [&](const TraceSegment& segment, int, std::size_t begin, std::size_t end) {
                     const std::uint64_t key =
                         agent.replay == 0 ? segment.key : mixed(segment.key, agent.replay);
                     fill(std::span(tokens).subspan(begin, end - begin), key, vocabulary_);
                   });
  }
  std::vector<Segment> segments(std::uint32_t job, int turn) const override {
    const ReplayedAgent& agent = agents_[job];
    const auto at = static_cast<std::size_t>(turn);
    const TraceSession& session = set_->sessions[agent.session];
    const int prompt = session.turns[static_cast<std::size_t>(agent.turns[at])].prompt_tokens;
    std::vector<std::pair<std::size_t, Segment>> found;  // with where they begin
    visit_segments(
        session, agent.turns[at], 0, static_cast<std::size_t>(prompt + agent.outputs[at]),
        [&](const TraceSegment& segment, int by, std::size_t begin, std::size_t end) {
          const auto own = std::ranges::lower_bound(agent.turns, by);
          const auto number = static_cast<int>(own - agent.turns.begin());
          found.push_back({begin, {segment.kind, number, static_cast<int>(end - begin)}});
        });
    std::ranges::sort(found, {}, [](const auto& piece) { return piece.first; });
    std::vector<Segment> segments;
    for (const auto& piece : found) segments.push_back(piece.second);
    return segments;
  }

 private:
  static constexpr std::uint32_t kUsualVocabulary = 1 << 17;

  /// Fills `out` with the first tokens of a segment, two of each mixed number.
  static void fill(std::span<engine::TokenId> out, std::uint64_t key, std::uint64_t vocabulary) {
    const auto scaled = [&](std::uint64_t half) {
      return static_cast<engine::TokenId>((half * vocabulary) >> 32);
    };
    std::size_t at = 0;
    for (; at + 2 <= out.size(); at += 2) {
      const std::uint64_t both = mixed(key, at / 2);
      out[at] = scaled(both & 0xffffffff);
      out[at + 1] = scaled(both >> 32);
    }
    if (at < out.size()) out[at] = scaled(mixed(key, at / 2) & 0xffffffff);
  }

  std::shared_ptr<const TraceSet> set_;
  std::vector<ReplayedAgent> agents_;  // by job
  std::uint32_t vocabulary_;
};

}  // namespace workload
