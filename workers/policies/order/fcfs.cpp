// First come, first served. A preempted request returns to the front of the queue. The victim is
// the running request that was admitted last.
#include "workers/engine/step/queue_order.hpp"
#include "workers/policies/order/config.hpp"

#include <memory>

namespace policies {
namespace {

using engine::Request;

class Fcfs final : public engine::QueueOrder {
 public:
  void push(Request& request) override { queue_.push_back(request); }
  void push_preempted(Request& request) override { queue_.push_front(request); }
  Request* front() const override { return queue_.front(); }
  void remove(Request& request) override { queue_.remove(request); }
  int size() const override { return static_cast<int>(queue_.size()); }
  Request& choose_victim(const engine::RunningList& running) const override {
    return *running.back();
  }

  std::vector<const Request*> in_service_order() const override {
    std::vector<const Request*> all;
    for (const Request* r = queue_.front(); r != nullptr; r = queue_.next(*r)) all.push_back(r);
    return all;
  }

 private:
  engine::IntrusiveList<Request, &Request::waiting_link> queue_;
};

}  // namespace

std::unique_ptr<engine::QueueOrder> make_fcfs_order(const OrderConfig&) {
  return std::make_unique<Fcfs>();
}

}  // namespace policies
