// Smallest priority value first, then arrival. The victim is the least urgent running request,
// among equals the latest arrival. No request is preempted to admit a waiting one.
#include <memory>
#include <tuple>

#include "workers/engine/step/queue_order.hpp"
#include "workers/policies/order/config.hpp"
#include "workers/policies/order/ranked_queue.hpp"

namespace policies {
namespace {

using engine::Request;

auto urgency(const Request& r) { return std::tuple(r.spec.priority, r.spec.arrival); }

struct MoreUrgent {
  bool operator()(const Request& a, const Request& b) const {
    return std::tuple(urgency(a), a.id) < std::tuple(urgency(b), b.id);
  }
};

class Priority final : public engine::QueueOrder {
 public:
  void push(Request& request) override { queue_.push(request); }
  void push_preempted(Request& request) override { queue_.push(request); }
  Request* front() const override { return queue_.front(); }
  void remove(Request& request) override { queue_.remove(request); }
  int size() const override { return queue_.size(); }
  std::vector<const Request*> in_service_order() const override {
    return queue_.in_service_order();
  }

  Request& choose_victim(const engine::RunningList& running) const override {
    return last_by(running, urgency);
  }

 private:
  RankedQueue<MoreUrgent> queue_{MoreUrgent{}};
};

}  // namespace

std::unique_ptr<engine::QueueOrder> make_priority_order(const OrderConfig&) {
  return std::make_unique<Priority>();
}

}  // namespace policies
