#pragma once
#include <vector>

#include "workers/engine/step/queue_order.hpp"
#include "workers/policies/order/config.hpp"
#include "workers/policies/order/ranked_queue.hpp"

namespace policies {

/// Which turns precede others. Within each group a turn takes the queue position of its job's first
/// turn.
enum class JobGroups {
  pinned_first,           // jobs with pinned KV, then all others
  preempted_then_pinned,  // preempted turns, then jobs with pinned KV, then all others
};

enum class VictimRule {
  last_unpinned,   // the last admitted request of a job without a pin
  latest_job,      // a request of the job that arrived last, sparing turns that end their job
  latest_arrival,  // a request of the job that arrived last, whatever its turn
};

/// What such an order declares, and the choice that was made of it.
Declared job_order_declares();
VictimRule victim_rule(const Parameters& given);

/// First come, first served by job.
class JobOrder final : public engine::QueueOrder {
 public:
  JobOrder(JobGroups groups, VictimRule victim) : groups_(groups), victim_(victim) {}

  void push(engine::Request& request) override;
  void push_preempted(engine::Request& request) override;
  void put_back(engine::Request& request) override;
  engine::Request* front() const override { return queue_.front(); }
  void remove(engine::Request& request) override;
  int size() const override { return queue_.size(); }
  std::vector<const engine::Request*> in_service_order() const override {
    return queue_.in_service_order();
  }
  void on_pin_changed(engine::JobId id, bool pinned) override;
  engine::Request& choose_victim(const engine::RunningList& running) const override;

 private:
  struct JobState {
    bool pinned = false, preempted = false;
    engine::Request* waiting = nullptr;  // a job has one turn at a time
  };
  struct Before {
    const JobOrder* order;
    bool operator()(const engine::Request& a, const engine::Request& b) const;
  };

  void enqueue(engine::Request& request, bool preempted);
  JobState& state_of(engine::JobId job);
  bool pinned(const engine::Request& request) const;
  int group_of(const engine::Request& request) const;
  engine::Request& last_unpinned(const engine::RunningList& running) const;
  engine::Request& latest(const engine::RunningList& running) const;

  JobGroups groups_;
  VictimRule victim_;
  std::vector<JobState> jobs_;
  RankedQueue<Before> queue_{Before{this}};
};

}  // namespace policies
