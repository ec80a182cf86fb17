#include "workers/policies/order/job_order.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace policies {

using engine::Request;
using engine::RunningList;

namespace {

constexpr const char* kVictims[] = {"last_unpinned", "latest_job", "latest_arrival"};
constexpr Parameter kVictim = {
    .name = "victim",
    .words = kVictims,
    .says =
        "Which running request is preempted: the one admitted last whose job is not "
        "pinned, one of the latest job but not a job's last turn, or one of the latest "
        "job whatever its turn."};

}  // namespace

Declared job_order_declares() { return {.parameters = {kVictim}}; }

VictimRule victim_rule(const Parameters& given) {
  const std::string word = word_of(kVictim, given);
  return static_cast<VictimRule>(std::ranges::find(kVictims, word) - std::begin(kVictims));
}

void JobOrder::push(Request& request) { enqueue(request, false); }
void JobOrder::push_preempted(Request& request) { enqueue(request, true); }
void JobOrder::put_back(Request& request) { enqueue(request, request.num_preemptions > 0); }

void JobOrder::enqueue(Request& request, bool preempted) {
  JobState& job = state_of(request.spec.job);
  job.waiting = &request;
  job.preempted = preempted;
  queue_.push(request);
}

void JobOrder::remove(Request& request) {
  // The queue needs the job's state to rank the request while it removes it.
  queue_.remove(request);
  JobState& job = state_of(request.spec.job);
  job.waiting = nullptr;
  job.preempted = false;
}

void JobOrder::on_pin_changed(engine::JobId id, bool pinned) {
  JobState& job = state_of(id);
  job.pinned = pinned;
  if (job.waiting != nullptr) queue_.update(*job.waiting);
}

Request& JobOrder::choose_victim(const RunningList& running) const {
  return victim_ == VictimRule::last_unpinned ? last_unpinned(running) : latest(running);
}

bool JobOrder::Before::operator()(const Request& a, const Request& b) const {
  const auto rank = [&](const Request& r) {
    return std::tuple(order->group_of(r), r.spec.job_arrival, r.spec.arrival, r.id);
  };
  return rank(a) < rank(b);
}

JobOrder::JobState& JobOrder::state_of(engine::JobId job) {
  if (engine::index(job) >= jobs_.size()) jobs_.resize(engine::index(job) + 1);
  return jobs_[engine::index(job)];
}

bool JobOrder::pinned(const Request& request) const {
  const auto job = engine::index(request.spec.job);
  return job < jobs_.size() && jobs_[job].pinned;
}

int JobOrder::group_of(const Request& request) const {
  const auto job = engine::index(request.spec.job);
  if (groups_ == JobGroups::preempted_then_pinned && jobs_[job].preempted) return 0;
  return pinned(request) ? 1 : 2;
}

Request& JobOrder::last_unpinned(const RunningList& running) const {
  for (Request* r = running.back(); r != nullptr; r = running.prev(*r)) {
    if (!pinned(*r)) return *r;
  }
  return *running.back();
}

/// Chooses a request of the job that arrived last. With the rule latest_job, a turn that ends its
/// job is chosen only when there is no other.
Request& JobOrder::latest(const RunningList& running) const {
  const auto rank = [&](const Request& r) {
    return std::tuple(victim_ == VictimRule::latest_arrival || !r.spec.last_turn,
                      r.spec.job_arrival);
  };
  Request* victim = running.front();
  for (Request* r = victim; r != nullptr; r = running.next(*r)) {
    if (rank(*victim) <= rank(*r)) victim = r;
  }
  return *victim;
}

}  // namespace policies
