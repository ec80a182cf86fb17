#include "workers/engine/scheduler/pins.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace engine {

Pins::Pins(KvCache& kv, QueueOrder& order, RetentionPolicy& policy)
    : kv_(kv),
      order_(order),
      policy_(policy),
      rules_(policy.pin_rules()),
      most_blocks_(rules_.most_of_pool < 1
                       ? static_cast<int>(rules_.most_of_pool * (kv.pool().num_usable()))
                       : std::numeric_limits<int>::max()) {}

bool Pins::later(const Deadline& a, const Deadline& b) {
  return std::tuple(a.at, index(a.job)) > std::tuple(b.at, index(b.job));
}

Pins::JobState& Pins::state_of(JobId job) {
  if (index(job) >= jobs_.size()) jobs_.resize(index(job) + 1);
  return jobs_[index(job)];
}

Nanos Pins::next_expiry() const {
  return deadlines_.empty() ? Nanos::max() : deadlines_.front().at;
}

/// True when the pin with this deadline has ended, or is overdue.
bool Pins::lapsed(const Deadline& due) const {
  const Pin& pin = jobs_[index(due.job)].pin;
  return !pin.active || pin.overdue || pin.turn != due.turn;
}

void Pins::forget_lapsed() {
  while (!deadlines_.empty() && lapsed(deadlines_.front())) {
    std::ranges::pop_heap(deadlines_, later);
    deadlines_.pop_back();
  }
}

void Pins::expire(Nanos now) {
  while (!deadlines_.empty() && deadlines_.front().at <= now) {
    const Deadline due = deadlines_.front();
    JobState& job = state_of(due.job);
    if (rules_.protect_waiting && job.waiting > 0) {
      job.pin.overdue = true;
      forget_lapsed();
    } else {
      release(due.job, KvReason::ttl);
    }
  }
}

void Pins::on_arrival(const Request& request) {
  ++state_of(request.spec.job).waiting;
  policy_.on_arrival(request);
}

void Pins::on_preempted(const Request& request) { ++state_of(request.spec.job).waiting; }

void Pins::on_admitted(const Request& request) {
  JobState& job = state_of(request.spec.job);
  --job.waiting;
  if (!job.pin.active) return;
  if (rules_.release_on_handoff) {
    release(request.spec.job, KvReason::handoff);
  } else if (job.pin.overdue && job.waiting == 0) {
    release(request.spec.job, KvReason::ttl);
  }
}

void Pins::on_aborted(Request& request) {
  JobState& job = state_of(request.spec.job);
  if (request.waits()) --job.waiting;
  if (job.pin.active) release(request.spec.job, KvReason::job_end);
}

void Pins::on_turn_finish(Request& request, Nanos now, SwapSpace* swap,
                          std::vector<BlockId>* late) {
  const auto release_blocks = [&] {
    if (late == nullptr) return kv_.release(request);
    *late = kv_.take_blocks(request);
  };
  JobState& job = state_of(request.spec.job);
  if (job.pin.active) {
    // Shared blocks stay allocated, because the finished turn still references them.
    release(request.spec.job, request.spec.last_turn ? KvReason::job_end : KvReason::replaced);
  }
  const GapDecision decision = policy_.on_turn_finish(request, now);
  // A turn that ends while it is preempted holds no blocks to pin.
  if (!decision.pin || request.blocks.empty()) {
    const bool kept = decision.swap && swap != nullptr && swap->keep_finished(request);
    if (!kept && decision.reason != KvReason::none)
      record(KvEventKind::keep_declined, decision.reason, request);
    release_blocks();
    return;
  }
  const int blocks = static_cast<int>(request.blocks.size());
  const int kept = std::min(blocks, most_blocks_ - num_blocks_);
  if (kept > 0) add(request, decision, kept);
  if (kept == blocks) return;
  record(KvEventKind::keep_declined, KvReason::no_room, request);
  events_.back().blocks = blocks - kept;
  if (kept <= 0) release_blocks();
}

/// Pins the turn's first blocks, as many as that.
void Pins::add(Request& request, const GapDecision& decision, int kept) {
  record(KvEventKind::pin, decision.reason, request, decision.deadline);
  events_.back().blocks = kept;
  std::vector<BlockId> blocks = kv_.pin(request);
  const auto first_beyond = blocks.begin() + kept;
  kv_.unpin({first_beyond, blocks.end()});
  blocks.erase(first_beyond, blocks.end());
  const JobId id = request.spec.job;
  state_of(id).pin = {.active = true,
                      .overdue = false,
                      .turn = request.spec.turn,
                      .deadline = decision.deadline,
                      .job_arrival = request.spec.job_arrival,
                      .blocks = std::move(blocks)};
  ++num_pins_;
  num_blocks_ += kept;
  ++num_changes_;
  deadlines_.push_back({decision.deadline, id, request.spec.turn});
  std::ranges::push_heap(deadlines_, later);
  order_.on_pin_changed(id, true);
}

bool Pins::release_one(KvReason pressure) {
  if (num_pins_ == 0) return false;
  const auto rank = [&](const JobState& job) {
    const Nanos key = rules_.pressure_victim == PressureVictim::latest_job ? job.pin.job_arrival
                                                                           : job.pin.deadline;
    return std::tuple(job.pin.active, key);
  };
  const auto victim = std::ranges::max_element(jobs_, {}, rank);
  release(JobId{static_cast<std::uint32_t>(victim - jobs_.begin())}, pressure);
  return true;
}

void Pins::release(JobId id, KvReason reason) {
  Pin pin = std::move(state_of(id).pin);
  state_of(id).pin = {};
  --num_pins_;
  num_blocks_ -= static_cast<int>(pin.blocks.size());
  ++num_changes_;
  forget_lapsed();
  kv_.unpin(pin.blocks);
  order_.on_pin_changed(id, false);
  events_.push_back({KvEventKind::unpin, reason, id, pin.turn, static_cast<int>(pin.blocks.size()),
                     id, pin.turn, pin.deadline});
}

void Pins::record(KvEventKind kind, KvReason reason, const Request& request, Nanos deadline) {
  events_.push_back({kind, reason, request.spec.job, request.spec.turn,
                     static_cast<int>(request.blocks.size()), request.spec.job, request.spec.turn,
                     deadline});
}

}  // namespace engine
