#pragma once
#include <memory>
#include <vector>

#include "workers/engine/queue_order.hpp"

namespace policies {

/// Lets at most so many jobs be under way: from when a job's first turn may be served until its
/// last turn ends. Further jobs are held back, out of sight of the scheduler, in the same order as
/// the others; turns of jobs under way never are.
class ActivePrograms final : public engine::QueueOrder {
 public:
  /// Two orders of one kind; `limit` at least 1.
  ActivePrograms(std::unique_ptr<engine::QueueOrder> served,
                 std::unique_ptr<engine::QueueOrder> held, int limit);

  void push(engine::Request& request) override;
  void push_preempted(engine::Request& request) override;
  engine::Request* front() const override;
  void remove(engine::Request& request) override;
  /// Without those held back: nothing can be done for them now.
  int size() const override;
  engine::Request& choose_victim(const engine::RunningList& running) const override;
  void on_pin_changed(engine::JobId job, bool pinned) override;
  std::vector<const engine::Request*> in_service_order() const override;

  int held_back() const { return held_->size(); }

 private:
  enum class Place : std::uint8_t { unknown, held, active };
  /// The latest turn of a job under way. Requests keep their address while they are in the engine;
  /// an ended one is recognised by its status, or by the id of the request in its place.
  struct Latest {
    engine::JobId job;
    const engine::Request* request;
    engine::RequestId id;
    bool last_turn;
  };
  static bool is_over(const Latest& turn);
  Place& place_of(engine::JobId job) const;
  void follow(const engine::Request& request) const;
  void let_in() const;

  std::unique_ptr<engine::QueueOrder> served_, held_;
  std::size_t limit_;
  // The order is not told that a job is over: it looks whenever it is asked what waits.
  mutable std::vector<Latest> active_;
  mutable std::vector<Place> places_;  // by job
};

}  // namespace policies
