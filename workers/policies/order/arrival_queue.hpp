#pragma once
#include <vector>

#include "workers/engine/step/queue_order.hpp"

namespace policies {

/// First come, first served. A preempted request returns to the front of the queue. The victim is
/// the running request that was admitted last.
class ArrivalQueue : public engine::QueueOrder {
 public:
  void push(engine::Request& request) override { queue_.push_back(request); }
  void push_preempted(engine::Request& request) override { queue_.push_front(request); }
  engine::Request* front() const override { return queue_.front(); }
  void remove(engine::Request& request) override { queue_.remove(request); }
  int size() const override { return static_cast<int>(queue_.size()); }
  engine::Request& choose_victim(const engine::RunningList& running) const override {
    return *running.back();
  }
  std::vector<const engine::Request*> in_service_order() const override {
    std::vector<const engine::Request*> all;
    for (const engine::Request* r = queue_.front(); r != nullptr; r = queue_.next(*r))
      all.push_back(r);
    return all;
  }

 protected:
  engine::IntrusiveList<engine::Request, &engine::Request::waiting_link> queue_;
};

}  // namespace policies
