#pragma once
#include <vector>

#include "workers/engine/base/request.hpp"
#include "workers/engine/cache/prefix_cache.hpp"

namespace engine {

/// Decides which request is served next and which is preempted. Holds the waiting requests; the
/// scheduler asks and never looks inside.
class QueueOrder {
 public:
  virtual ~QueueOrder() = default;
  virtual void push(Request& request) = 0;
  /// Queues a request again after a preemption, or after its loaded KV was dropped.
  virtual void push_preempted(Request& request) = 0;
  /// Queues a request again that was removed and could not be admitted, where it was.
  virtual void put_back(Request& request) { push_preempted(request); }
  /// Whether the first is served before the second, which got its loaded KV earlier.
  virtual bool overtakes(const Request&, const Request&) const { return false; }
  /// A step begins: some time has passed, and the cached content may have changed.
  virtual void begin_step(Nanos, const PrefixCache&) {}
  /// The turn, which does not wait any more, has finished or was aborted.
  virtual void on_turn_end(const Request&, Nanos) {}
  /// The request to admit next; null when none waits.
  virtual Request* front() const = 0;
  virtual void remove(Request& request) = 0;
  virtual int size() const = 0;
  /// Requests that wait and may not be served yet. They are in none of the other answers.
  virtual int held_back() const { return 0; }
  /// The running request to preempt when one cannot grow. `running` is in order of admission and
  /// not empty.
  virtual Request& choose_victim(const RunningList& running) const = 0;
  /// The job's KV was pinned (true) or unpinned (false).
  virtual void on_pin_changed(JobId, bool) {}
  /// All waiting requests in service order.
  virtual std::vector<const Request*> in_service_order() const = 0;
};

}  // namespace engine
