#pragma once
#include <vector>

#include "workers/engine/base/request.hpp"
#include "workers/policies/waste.hpp"

namespace policies {

/// Weighs turns whose tool begins. Tracks how much KV the running requests hold, from arrivals
/// alone. Requests keep their address while they are in the engine. A request that has left is
/// recognized by its status, or by a different id at its address.
class RunningContext {
 public:
  /// Throws engine::InputError, which names the key, where it is not known what a prefill costs.
  RunningContext(const PolicyConfig& config, const std::string& key)
      : usual_{.chunk_tok = config.max_num_batched_tokens,
               .reload = config.reload.known_for(key),
               .swap_s_per_tok = config.swap_s_per_tok} {}
  void on_arrival(const engine::Request& request) { live_.push_back({&request, request.id}); }

  Interception interception(const engine::Request& request) {
    Interception turn = usual_;
    turn.context_tok = request.num_tokens();
    turn.other_tok = tokens_beside(request);
    return turn;
  }

 private:
  /// Computed tokens of all running requests except this one.
  double tokens_beside(const engine::Request& request) {
    std::erase_if(live_, [](const Entry& entry) { return has_left(entry); });
    double tokens = 0;
    for (const Entry& entry : live_) {
      if (entry.request == &request || entry.request->status != engine::RequestStatus::running)
        continue;
      tokens += entry.request->num_computed_tokens;
    }
    return tokens;
  }

  struct Entry {
    const engine::Request* request;
    engine::RequestId id;
  };
  static bool has_left(const Entry& entry) {
    return entry.request->id != entry.id ||
           entry.request->status == engine::RequestStatus::finished ||
           entry.request->status == engine::RequestStatus::aborted;
  }

  Interception usual_;
  std::vector<Entry> live_;
};

}  // namespace policies
