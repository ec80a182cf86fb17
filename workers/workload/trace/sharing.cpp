#include "workers/workload/trace/sharing.hpp"

#include <algorithm>
#include <unordered_set>

#include "workers/workload/trace/mix.hpp"

namespace workload {
namespace {

struct Identity {
  std::size_t operator()(std::uint64_t key) const { return key; }
};
using Seen = std::unordered_set<std::uint64_t, Identity>;

/// Walks the prompts of a trace. Ids are chained, so that a block counts as the same only behind
/// the same blocks.
class Walk {
 public:
  struct Found {
    int blocks = 0;      // leading blocks that have an id and occurred
    int blocks_own = 0;  // in the same session
    int tokens = 0;      // leading tokens that occurred, in whole blocks of the trace
    int tokens_own = 0;
    int ids = 0;
  };

  void begin(const TraceSession& session) {
    session_ = &session;
    own_.clear();
    chains_.assign(session.turns.size(), {});
    uses_.assign(session.turns.size(), 0);
    for (const TraceTurn& turn : session.turns)
      if (turn.base >= 0) ++uses_[static_cast<std::size_t>(turn.base)];
  }

  Found next(std::size_t number) {
    const TraceTurn& turn = session_->turns[number];
    if (session_->block_tokens == 0) return {0, 0, turn.shared_tokens, turn.shared_tokens, 0};
    const auto shared = static_cast<std::size_t>(turn.shared_tokens / session_->block_tokens);
    std::vector<std::uint64_t>& chain = chains_[number];
    if (turn.base >= 0) take_base(turn, chain);
    chain.resize(shared);
    std::uint64_t key = chain.empty() ? mixed(session_->scope, 0) : chain.back();
    for (int i = 0; i < turn.num_ids; ++i)
      chain.push_back(key = mixed(key, session_->ids[turn.first_id + static_cast<std::size_t>(i)]));
    Found found = look_up(chain, shared, turn.prompt_tokens);
    if (session_->is_transcript && number > 0) continue_transcript(number, found);
    for (std::size_t i = shared; i < chain.size(); ++i) {
      own_.insert(chain[i]);
      if (session_->scope == 0) all_.insert(chain[i]);
    }
    return found;
  }

 private:
  /// The chain of the base, which is dropped when nothing else is based on it.
  void take_base(const TraceTurn& turn, std::vector<std::uint64_t>& chain) {
    const auto base = static_cast<std::size_t>(turn.base);
    if (--uses_[base] == 0) {
      chain.swap(chains_[base]);
    } else {
      chain = chains_[base];
    }
  }

  Found look_up(const std::vector<std::uint64_t>& chain, std::size_t shared, int prompt) const {
    const auto run = [&](const Seen& seen) {
      std::size_t i = shared;
      while (i < chain.size() && seen.contains(chain[i])) ++i;
      return static_cast<int>(i);
    };
    Found found;
    found.ids = static_cast<int>(chain.size());
    found.blocks_own = run(own_);
    found.blocks = session_->scope == 0 ? std::max(run(all_), found.blocks_own) : found.blocks_own;
    found.tokens = std::min(prompt, found.blocks * session_->block_tokens);
    found.tokens_own = std::min(prompt, found.blocks_own * session_->block_tokens);
    return found;
  }

  /// The last token of an answer is sampled, and its KV is not computed.
  void continue_transcript(std::size_t number, Found& found) const {
    const TraceTurn& before = session_->turns[number - 1];
    const int known = before.prompt_tokens + before.output_tokens - 1;
    found.tokens_own = std::max(found.tokens_own, known);
    found.tokens = std::max(found.tokens, known);
  }

  const TraceSession* session_ = nullptr;
  Seen own_, all_;
  std::vector<std::vector<std::uint64_t>> chains_;  // by turn, while another is based on it
  std::vector<int> uses_;
};

template <class Visit>
void walk(const TraceSet& set, Visit visit) {
  Walk walk;
  for (std::size_t s = 0; s < set.sessions.size(); ++s) {
    walk.begin(set.sessions[s]);
    for (std::size_t t = 0; t < set.sessions[s].turns.size(); ++t) visit(s, t, walk.next(t));
  }
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

std::vector<std::vector<TurnSharing>> ideal_sharing(const TraceSet& set, int block_size) {
  std::vector<std::vector<TurnSharing>> sharing(set.sessions.size());
  walk(set, [&](std::size_t s, std::size_t t, const Walk::Found& found) {
    const int computed = set.sessions[s].turns[t].prompt_tokens - 1;
    const auto whole = [&](int tokens) {
      return std::min(tokens, computed) / block_size * block_size;
    };
    sharing[s].push_back({whole(found.tokens_own), whole(found.tokens)});
  });
  return sharing;
}

PublishedSharing published_sharing(const TraceSet& set) {
  double tokens = 0, hits = 0, blocks = 0, block_hits = 0;
  std::vector<double> own(set.sessions.size()), prompts(set.sessions.size());
  walk(set, [&](std::size_t s, std::size_t t, const Walk::Found& found) {
    const int prompt = set.sessions[s].turns[t].prompt_tokens;
    tokens += prompt;
    hits += found.tokens;
    blocks += found.ids;
    block_hits += found.blocks;
    own[s] += found.tokens_own;
    prompts[s] += prompt;
  });
  PublishedSharing published{share(hits, tokens), share(block_hits, blocks), {}};
  for (std::size_t s = 0; s < own.size(); ++s)
    published.by_session.push_back(share(own[s], prompts[s]));
  return published;
}

}  // namespace workload
