#pragma once
#include <vector>

#include "workers/engine/request.hpp"

namespace engine {

/// Which request is served next, and which is preempted. Holds the waiting requests; the scheduler
/// asks and never looks inside.
class QueueOrder {
 public:
  virtual ~QueueOrder() = default;
  virtual void push(Request& request) = 0;
  /// A request that lost its blocks comes back.
  virtual void push_preempted(Request& request) = 0;
  /// A request whose KV has been loaded from the host comes back with blocks.
  virtual void push_loaded(Request& request) { push_preempted(request); }
  /// The request to be admitted next; null when none waits.
  virtual Request* front() const = 0;
  virtual void remove(Request& request) = 0;
  virtual int size() const = 0;
  /// The running request to preempt when one cannot grow. `running` is in order of admission and
  /// not empty.
  virtual Request& choose_victim(const RunningList& running) const = 0;
  /// The job's KV became pinned or is no longer.
  virtual void on_pin_changed(JobId, bool) {}
  /// All waiting requests in service order.
  virtual std::vector<const Request*> in_service_order() const = 0;
};

}  // namespace engine
