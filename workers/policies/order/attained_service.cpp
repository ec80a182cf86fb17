// Programs that have been served least go first (Autellix's PLAS, arXiv:2502.13965): their turns
// queue by the time for which the program's earlier turns were computed, in eight queues of bounds
// 1, 2, 4 ... 64 s, first come, first served within each. `service_of = path` (ATLAS) counts the
// longest chain of turns that led to this turn: parallel subagents count once, and their turns
// count toward their root. A turn joins the first queue once it and its program have waited eight
// times as long as they were served. The victim is the running request that would be served last.
#include <algorithm>
#include <array>
#include <tuple>

#include "workers/policies/estimators/by_id.hpp"
#include "workers/policies/order/config.hpp"
#include "workers/policies/order/ranked_queue.hpp"

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

constexpr const char* kServiceOf[] = {"program", "path"};
constexpr Parameter kService = {
    .name = "service_of",
    .words = kServiceOf,
    .is_neutral = true,
    .says =
        "What has been served: all turns of the program (program, Autellix's PLAS), or the "
        "longest chain of turns that led to this one (path, its ATLAS), which differs where "
        "subagents run side by side."};

class AttainedService final : public RankedOrder<AttainedService> {
 public:
  explicit AttainedService(const OrderConfig& config)
      : of_path_(word_of(kService, config.parameters) == "path") {}

  void push(Request& request) override {
    const Nanos service = of_path_ ? path_to(request) : program_of(request).service;
    Job& job = jobs_[request.spec.job];
    job.queue = queue_of(service);
    job.joined = request.spec.arrival;
    wait(request);
  }
  void push_preempted(Request& request) override { wait(request); }
  void remove(Request& request) override {
    RankedOrder::remove(request);
    jobs_[request.spec.job].waiting = nullptr;
  }

  std::tuple<int, Nanos, Nanos, engine::RequestId> rank(const Request& r) const {
    const Job& job = jobs_[r.spec.job];
    return {job.queue, job.joined, r.spec.job_arrival, r.id};
  }

  void begin_step(Nanos now, const engine::PrefixCache&) override {
    if (size() == 0) return;
    for (Job& job : jobs_)
      if (job.waiting != nullptr && job.queue > 0 && starves(*job.waiting, now)) {
        job.queue = 0;
        job.joined = now;
        update(*job.waiting);
      }
  }

  void on_turn_end(const Request& request, Nanos) override {
    Job& program = program_of(request);
    program.service += service_of(request);
    program.waited += request.time.queue;
    const Nanos path = jobs_[request.spec.job].path += service_of(request);
    if (request.spec.subagent_of && request.spec.last_turn) {
      Nanos& joined = program_of(request).joined_path;
      joined = std::max(joined, path);
    }
  }

 private:
  struct Job {
    Nanos service{0}, waited{0};  // of a program, by its root: of its turns that have ended
    Nanos path{0};                // the longest chain of turns up to the last one that has ended
    Nanos joined_path{0};         // of a root: that of its subagents that have ended
    int queue = 0;                // of the turn in the engine
    Nanos joined{0};
    Request* waiting = nullptr;
  };

  Job& program_of(const Request& request) {
    return jobs_[request.spec.subagent_of.value_or(request.spec.job)];
  }

  /// A subagent goes on from where its root was, and a root from its longest subagent.
  Nanos path_to(const Request& request) {
    const Job root = program_of(request);
    Job& job = jobs_[request.spec.job];
    if (!request.spec.subagent_of) {
      job.path = std::max(job.path, job.joined_path);
    } else if (request.spec.turn == 0) {
      job.path = root.path;
    }
    return job.path;
  }

  void wait(Request& request) {
    jobs_[request.spec.job].waiting = &request;
    RankedOrder::push(request);
  }

  bool starves(const Request& request, Nanos now) {
    const Job& program = program_of(request);
    const Nanos service = program.service + service_of(request);
    const Nanos waited = program.waited + request.time.queue + now - request.last_seen;
    return service >= kLeastService && waited >= kMostWait * service;
  }

  bool of_path_;
  ByJob<Job> jobs_;
};

}  // namespace

OrderEntry attained_service_order() {
  return {"attained_service", OrderEntry::makes<AttainedService>, {kService}};
}

}  // namespace policies
