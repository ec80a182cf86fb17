// Smallest priority value first, then arrival. The victim is the least urgent running request,
// among equals the latest arrival. No request is preempted to admit a waiting one.
#include <tuple>

#include "workers/policies/order/config.hpp"
#include "workers/policies/order/ranked_queue.hpp"

namespace policies {
namespace {

using engine::Request;

auto urgency(const Request& r) { return std::tuple(r.spec.priority, r.spec.arrival); }

class Priority final : public RankedOrder<Priority> {
 public:
  auto rank(const Request& r) const { return std::tuple(urgency(r), r.id); }
  bool overtakes(const Request& a, const Request& b) const override { return rank(a) < rank(b); }
  Request& choose_victim(const engine::RunningList& running) const override {
    return last_by(running, urgency);
  }
};

}  // namespace

OrderEntry priority_order() { return {"priority", OrderEntry::makes<Priority>}; }

}  // namespace policies
