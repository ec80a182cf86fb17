// Programs that have been served least go first (Autellix's PLAS, arXiv:2502.13965): their turns
// queue by the time for which the program's earlier turns were computed, in eight queues of bounds
// 1, 2, 4 ... 64 s, first come, first served within each. A turn joins the first queue once it and
// its program have waited eight times as long as they were served. The victim is the running
// request that would be served last.
#include <array>
#include <memory>
#include <tuple>
#include <vector>

#include "workers/engine/step/queue_order.hpp"
#include "workers/policies/config.hpp"
#include "workers/policies/ranked_queue.hpp"

namespace policies {
namespace {

using engine::Nanos;
using engine::Request;
using namespace std::chrono_literals;

constexpr int kQueues = 8;
constexpr int kMostWait = 8;  // times the service
constexpr Nanos kLeastService = 1ms;

int queue_of(Nanos service) {
  int queue = 0;
  for (Nanos bound = 1s; queue < kQueues - 1 && service >= bound; bound *= 2) ++queue;
  return queue;
}

Nanos service_of(const Request& request) {
  const engine::TimeSplit& t = request.time;
  return t.load_stall + t.recompute + t.prefill + t.decode;
}

class AttainedService final : public engine::QueueOrder {
 public:
  void push(Request& request) override {
    const Nanos service = program_of(request).service;
    Job& job = of(request.spec.job);
    job.queue = queue_of(service);
    job.joined = request.spec.arrival;
    wait(request);
  }
  void push_preempted(Request& request) override { wait(request); }
  Request* front() const override { return queue_.front(); }
  void remove(Request& request) override {
    queue_.remove(request);
    of(request.spec.job).waiting = nullptr;
  }
  int size() const override { return queue_.size(); }
  std::vector<const Request*> in_service_order() const override {
    return queue_.in_service_order();
  }

  Request& choose_victim(const engine::RunningList& running) const override {
    return last_by(running, [this](const Request& r) { return rank(r); });
  }

  void begin_step(Nanos now, const engine::PrefixCache&) override {
    if (queue_.size() == 0) return;
    for (Job& job : jobs_)
      if (job.waiting != nullptr && job.queue > 0 && starves(*job.waiting, now)) {
        job.queue = 0;
        job.joined = now;
        queue_.update(*job.waiting);
      }
  }

  void on_turn_end(const Request& request, Nanos) override {
    Job& program = program_of(request);
    program.service += service_of(request);
    program.waited += request.time.queue;
  }

 private:
  struct Job {
    Nanos service{0}, waited{0};  // of a program, by its root: of its turns that have ended
    int queue = 0;                // of the turn in the engine
    Nanos joined{0};
    Request* waiting = nullptr;
  };
  using Rank = std::tuple<int, Nanos, Nanos, engine::RequestId>;
  Rank rank(const Request& r) const {
    const Job& job = jobs_[engine::index(r.spec.job)];
    return {job.queue, job.joined, r.spec.job_arrival, r.id};
  }
  struct Before {
    const AttainedService* order;
    bool operator()(const Request& a, const Request& b) const {
      return order->rank(a) < order->rank(b);
    }
  };

  Job& of(engine::JobId id) {
    if (engine::index(id) >= jobs_.size()) jobs_.resize(engine::index(id) + 1);
    return jobs_[engine::index(id)];
  }
  Job& program_of(const Request& request) {
    return of(request.spec.subagent_of.value_or(request.spec.job));
  }

  void wait(Request& request) {
    of(request.spec.job).waiting = &request;
    queue_.push(request);
  }

  bool starves(const Request& request, Nanos now) {
    const engine::JobId root = request.spec.subagent_of.value_or(request.spec.job);
    const Job& program = jobs_[engine::index(root)];
    const Nanos service = program.service + service_of(request);
    const Nanos waited = program.waited + request.time.queue + now - request.last_seen;
    return service >= kLeastService && waited >= kMostWait * service;
  }

  std::vector<Job> jobs_;
  RankedQueue<Before> queue_{Before{this}};
};

}  // namespace

std::unique_ptr<engine::QueueOrder> make_attained_service_order(const PolicyConfig&) {
  return std::make_unique<AttainedService>();
}

}  // namespace policies
