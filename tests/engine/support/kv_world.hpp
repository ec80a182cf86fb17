#pragma once
#include <deque>
#include <utility>

#include "tests/engine/support/tokens.hpp"
#include "workers/engine/cache/kv_cache.hpp"

namespace support {

/// Sequences over one KV cache, without a scheduler. All tokens with allocated blocks count as
/// computed. Every verb ends with verify().
class KvWorld {
 public:
  explicit KvWorld(int num_blocks, int block_size = 16, bool prefix_caching = true)
      : KvWorld(engine::KvConfig{num_blocks, block_size, prefix_caching}) {}
  explicit KvWorld(const engine::KvConfig& config) : kv(config) {}

  engine::Request& sequence(const Tokens& prompt, std::uint64_t salt = 0) {
    Stored& stored = sequences_.emplace_back();
    stored.prompt = prompt;
    stored.request.spec.prompt = stored.prompt;
    stored.request.spec.salt = salt;
    engine::hash_full_blocks(stored.request, kv.block_size());
    return stored.request;
  }

  Ids hits(engine::Request& request) { return numbers(kv.find_prefix(request)); }

  /// Admits the request with its longest cached prefix; false when it does not fit.
  bool admit(engine::Request& request, int new_tokens, int reserved_tokens = 0) {
    const auto found = kv.find_prefix(request);
    const std::vector<engine::BlockId> hit(found.begin(), found.end());
    const auto answer = kv.try_admit(request, hit, new_tokens, reserved_tokens);
    kv.verify();
    if (answer.fit != engine::Fit::ok) return false;
    request.num_computed_tokens = static_cast<int>(hit.size()) * kv.block_size() + new_tokens;
    return true;
  }
  /// Admits a new sequence with its whole prompt.
  engine::Request& admitted(const Tokens& prompt) {
    engine::Request& request = sequence(prompt);
    const auto hit = static_cast<int>(kv.find_prefix(request).size()) * kv.block_size();
    if (!admit(request, request.num_prompt() - hit)) throw std::runtime_error("does not fit");
    return request;
  }

  /// Generates the tokens, then computes them.
  bool append(engine::Request& request, const Tokens& generated) {
    request.outputs.insert(request.outputs.end(), generated.begin(), generated.end());
    engine::hash_full_blocks(request, kv.block_size());
    const auto count = static_cast<int>(generated.size());
    const bool grown = kv.try_grow(request, count);
    if (grown) request.num_computed_tokens += count;
    kv.verify();
    return grown;
  }

  void free(engine::Request& request) {
    kv.release(request);
    kv.verify();
  }

  Ids refs(int first, int last) const {
    Ids counts;
    for (int b = first; b <= last; ++b) counts.push_back(kv.pool().refs(block(b)));
    return counts;
  }
  bool hashed(int b) const { return kv.prefix_cache().contains(block(b)); }
  Ids free_list() const {
    Ids ids;
    for (auto b = kv.pool().free_head(); b != block(0); b = kv.pool().next_free(b))
      ids.push_back(static_cast<int>(engine::index(b)));
    return ids;
  }
  static engine::BlockId block(int b) { return engine::BlockId{static_cast<std::uint32_t>(b)}; }

  engine::KvCache kv;

 private:
  struct Stored {
    Tokens prompt;
    engine::Request request;
  };
  std::deque<Stored> sequences_;
};

inline Ids table(const engine::Request& request) { return numbers(request.blocks); }

}  // namespace support
