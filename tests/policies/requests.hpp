#pragma once
#include <deque>
#include <memory>
#include <string>

#include "workers/policies/factory.hpp"

namespace policy_test {

/// The part of a request that orders and retention rules see.
struct Turn {
  int job = 0;
  int turn = 0;
  double arrival_s = 0;
  double job_arrival_s = 0;
  int priority = 0;
  int tool = -1;
  bool last = false;
};

/// Requests with ids in the order of creation, named by their number.
class Requests {
 public:
  engine::Request& make(const Turn& turn) {
    engine::Request& r = requests_.emplace_back();
    r.id = engine::RequestId{static_cast<std::uint32_t>(requests_.size() - 1)};
    r.spec.job = engine::JobId{static_cast<std::uint32_t>(turn.job)};
    r.spec.turn = turn.turn;
    r.spec.arrival = engine::from_seconds(turn.arrival_s);
    r.spec.job_arrival = engine::from_seconds(turn.job_arrival_s);
    r.spec.priority = turn.priority;
    r.spec.tool = engine::ToolId{turn.tool};
    r.spec.last_turn = turn.last;
    return r;
  }
  std::size_t size() const { return requests_.size(); }
  engine::Request& operator[](std::size_t number) { return requests_[number]; }

 private:
  std::deque<engine::Request> requests_;
};

/// A queue order with its waiting and running requests.
class OrderWorld {
 public:
  explicit OrderWorld(const policies::PolicyConfig& config) : order(policies::make_order(config)) {}

  engine::Request& wait(const Turn& turn) {
    engine::Request& request = requests.make(turn);
    order->push(request);
    return request;
  }
  engine::Request& run(const Turn& turn) {
    engine::Request& request = requests.make(turn);
    running.push_back(request);
    return request;
  }
  /// Preempts a running request, which waits again.
  std::string preempt() {
    engine::Request& victim = order->choose_victim(running);
    running.remove(victim);
    order->push_preempted(victim);
    return name(victim);
  }
  std::string victim() const { return name(order->choose_victim(running)); }

  /// All waiting requests, checked to be the same as listed and as taken from the front one by one.
  std::string service() {
    std::string listed;
    for (const engine::Request* r : order->in_service_order()) listed += name(*r) + ' ';
    return listed;
  }
  std::string drain() {
    std::string served;
    while (engine::Request* r = order->front()) {
      served += name(*r) + ' ';
      order->remove(*r);
    }
    return served;
  }
  static std::string name(const engine::Request& r) { return std::to_string(engine::index(r.id)); }

  Requests requests;
  std::unique_ptr<engine::QueueOrder> order;
  engine::RunningList running;
};

}  // namespace policy_test
