#include "workers/workload/trace/prompts.hpp"

#include <algorithm>
#include <span>

#include "workers/workload/trace/builder.hpp"
#include "workers/workload/trace/formats.hpp"

namespace workload {
namespace {

constexpr std::uint32_t kUsualVocabulary = 1 << 17;

/// Tokens by position, two of each mixed number.
class TokenStream {
 public:
  TokenStream(std::uint64_t key, std::uint32_t vocabulary) : key_(key), vocabulary_(vocabulary) {}

  void fill(std::span<engine::TokenId> out, std::size_t from) const {
    std::size_t at = 0;
    if (from % 2 == 1 && !out.empty()) out[at++] = scaled(mixed(key_, from / 2) >> 32);
    for (; at + 2 <= out.size(); at += 2) {
      const std::uint64_t both = mixed(key_, (from + at) / 2);
      out[at] = scaled(both & 0xffffffff);
      out[at + 1] = scaled(both >> 32);
    }
    if (at < out.size()) out[at] = scaled(mixed(key_, (from + at) / 2) & 0xffffffff);
  }

 private:
  engine::TokenId scaled(std::uint64_t half) const {
    return static_cast<engine::TokenId>((half * vocabulary_) >> 32);
  }

  std::uint64_t key_;
  std::uint64_t vocabulary_;
};

enum class Kind : std::uint64_t { block = 1, tail, answer };

/// Fills one prompt from its own part back to the first turn that it is based on.
class PromptFiller {
 public:
  PromptFiller(const TraceSession& session, std::uint64_t replay, std::uint32_t vocabulary)
      : session_(session),
        ids_(replay == 0 ? session.scope : mixed(session.scope, replay)),
        own_(mixed(local_scope(session.id), replay)),
        vocabulary_(vocabulary) {}

  void prompt(int number, std::span<engine::TokenId> out) const {
    std::size_t end = out.size();
    for (int t = number; t >= 0 && end > 0; t = turn(t).base) {
      const auto begin = static_cast<std::size_t>(turn(t).shared_tokens);
      if (begin >= end) continue;
      own_part(t, out.first(end), begin);
      end = begin;
    }
  }

  void answer(int number, std::span<engine::TokenId> out) const {
    stream(own_, Kind::answer, static_cast<std::uint64_t>(number)).fill(out, 0);
  }

 private:
  const TraceTurn& turn(int t) const { return session_.turns[static_cast<std::size_t>(t)]; }

  TokenStream stream(std::uint64_t scope, Kind kind, std::uint64_t name) const {
    return {mixed(mixed(scope, static_cast<std::uint64_t>(kind)), name), vocabulary_};
  }

  void own_part(int t, std::span<engine::TokenId> out, std::size_t begin) const {
    const auto size = static_cast<std::size_t>(session_.block_tokens);
    std::size_t at = begin;
    for (int i = 0; i < turn(t).num_ids && at < out.size(); ++i, at += size) {
      const std::uint64_t id = session_.ids[turn(t).first_id + static_cast<std::size_t>(i)];
      stream(ids_, Kind::block, id).fill(out.subspan(at, std::min(size, out.size() - at)), 0);
    }
    if (at >= out.size()) return;
    stream(own_, Kind::tail, static_cast<std::uint64_t>(t)).fill(out.subspan(at), at);
  }

  const TraceSession& session_;
  std::uint64_t ids_, own_;
  std::uint32_t vocabulary_;
};

}  // namespace

TracePrompts::TracePrompts(std::shared_ptr<const TraceSet> set, std::vector<ReplayedAgent> agents,
                           std::uint32_t vocabulary)
    : set_(std::move(set)),
      agents_(std::move(agents)),
      vocabulary_(vocabulary > 0 ? vocabulary : kUsualVocabulary) {}

void TracePrompts::make(std::uint32_t job, int turn, std::vector<engine::TokenId>& tokens) const {
  const ReplayedAgent& agent = agents_[job];
  const TraceSession& session = set_->sessions[agent.session];
  const auto at = static_cast<std::size_t>(turn);
  const int number = agent.turns[at];
  const auto prompt =
      static_cast<std::size_t>(session.turns[static_cast<std::size_t>(number)].prompt_tokens);
  tokens.resize(prompt + static_cast<std::size_t>(agent.outputs[at]));
  const PromptFiller filler(session, agent.replay, vocabulary_);
  const auto last = static_cast<int>(session.turns.size()) - 1;
  const bool continues = session.is_transcript && number < last;
  // The last prompt of a transcript holds all turns in front of it.
  const std::size_t known = continues ? tokens.size() : prompt;
  filler.prompt(session.is_transcript ? last : number, std::span(tokens).first(known));
  filler.answer(number, std::span(tokens).subspan(known));
}

}  // namespace workload
