#pragma once
#include <memory>
#include <vector>

#include "workers/engine/step/queue_order.hpp"

namespace policies {

/// Limits the number of active jobs. A job is active from the time when its first turn may be
/// served until its last turn ends. Further jobs are held back, invisible to the scheduler, in an
/// order of the same kind. Turns of active jobs are never held back, and neither are subagents,
/// which the program's root may wait for: they belong to a program that is active already.
class ActivePrograms final : public engine::QueueOrder {
 public:
  /// `served` and `held` are two orders of one kind. `limit` is at least 1.
  ActivePrograms(std::unique_ptr<engine::QueueOrder> served,
                 std::unique_ptr<engine::QueueOrder> held, int limit);

  void push(engine::Request& request) override;
  void push_preempted(engine::Request& request) override;
  engine::Request* front() const override;
  void remove(engine::Request& request) override;
  /// Excludes held-back requests, which the scheduler cannot serve.
  int size() const override;
  engine::Request& choose_victim(const engine::RunningList& running) const override;
  void on_pin_changed(engine::JobId job, bool pinned) override;
  std::vector<const engine::Request*> in_service_order() const override;

  int held_back() const override { return held_->size(); }

 private:
  enum class Place : std::uint8_t { unknown, held, active };
  /// The latest turn of an active job. Requests keep their address while they are in the engine. An
  /// ended request is recognized by its status, or by a different id at its address.
  struct Latest {
    engine::JobId job;
    const engine::Request* request;
    engine::RequestId id;
    bool last_turn;
  };
  static bool is_over(const Latest& turn);
  Place& place_of(engine::JobId job) const;
  void follow(const engine::Request& request) const;
  void admit_held() const;

  std::unique_ptr<engine::QueueOrder> served_, held_;
  std::size_t limit_;
  // Nothing reports the end of a job to the order, so it checks on every query.
  mutable std::vector<Latest> active_;
  mutable std::vector<Place> places_;  // by job
};

}  // namespace policies
