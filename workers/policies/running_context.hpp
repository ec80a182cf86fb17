#pragma once
#include <vector>

#include "workers/engine/request.hpp"

namespace policies {

/// How much KV the running requests hold, followed from arrivals alone. Requests keep their address
/// while they are in the engine; one that has left it is recognised by its status, or by the id of
/// the request that has taken its place.
class RunningContext {
 public:
  void on_arrival(const engine::Request& request) { live_.push_back({&request, request.id}); }

  /// Tokens of all running requests but this one.
  double tokens_beside(const engine::Request& request) {
    std::erase_if(live_, [](const Entry& entry) { return has_left(entry); });
    double tokens = 0;
    for (const Entry& entry : live_) {
      if (entry.request == &request || entry.request->status != engine::RequestStatus::running)
        continue;
      tokens += entry.request->num_computed;
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
