#pragma once
#include <vector>

#include "workers/engine/step/step.hpp"

namespace engine {

/// Appends events, merged so that a step has one per kind, reason, turn and cause instead of one
/// per block.
class TierEvents {
 public:
  explicit TierEvents(std::vector<KvEvent>& log) : log_(log) {}

  void add(KvEventKind kind, KvReason reason, const TurnRef& of, const TurnRef& by, int blocks) {
    for (auto event = log_.rbegin(); event != log_.rend(); ++event) {
      if (event->kind == kind && event->reason == reason && event->job == of.job &&
          event->turn == of.turn && event->by_job == by.job && event->by_turn == by.turn) {
        event->blocks += blocks;
        return;
      }
    }
    log_.push_back({kind, reason, of.job, of.turn, blocks, by.job, by.turn});
  }
  void add(KvEventKind kind, KvReason reason, const TurnRef& of, int blocks) {
    add(kind, reason, of, of, blocks);
  }
  /// Appends an event with the time by which the load should complete.
  void add_due(KvEventKind kind, KvReason reason, const TurnRef& of, int blocks, Nanos deadline) {
    log_.push_back({kind, reason, of.job, of.turn, blocks, of.job, of.turn, deadline});
  }

 private:
  std::vector<KvEvent>& log_;
};

inline TurnRef turn_of(const Request& request) { return {request.spec.job, request.spec.turn}; }

}  // namespace engine
