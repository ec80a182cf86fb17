#pragma once
#include <vector>

#include "workers/engine/base/request.hpp"

namespace policies {

/// Tracks how much KV the running requests hold, from arrivals alone. Requests keep their address
/// while they are in the engine. A request that has left is recognized by its status, or by a
/// different id at its address.
class RunningContext {
 public:
  void on_arrival(const engine::Request& request) { live_.push_back({&request, request.id}); }

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

 private:
  struct Entry {
    const engine::Request* request;
    engine::RequestId id;
  };
  static bool has_left(const Entry& entry) {
    return entry.request->id != entry.id ||
           entry.request->status == engine::RequestStatus::finished ||
           entry.request->status == engine::RequestStatus::aborted;
  }

  std::vector<Entry> live_;
};

}  // namespace policies
