#include "workers/policies/active_programs.hpp"

#include <algorithm>
#include <utility>

namespace policies {

using engine::JobId;
using engine::Request;
using engine::RequestStatus;

ActivePrograms::ActivePrograms(std::unique_ptr<engine::QueueOrder> served,
                               std::unique_ptr<engine::QueueOrder> held, int limit)
    : served_(std::move(served)), held_(std::move(held)), limit_(static_cast<std::size_t>(limit)) {}

void ActivePrograms::push(Request& request) {
  if (request.spec.subagent_of) {
    served_->push(request);
  } else if (place_of(request.spec.job) == Place::active) {
    follow(request);
    served_->push(request);
  } else {
    place_of(request.spec.job) = Place::held;
    held_->push(request);
  }
  admit_held();
}

void ActivePrograms::push_preempted(Request& request) { served_->push_preempted(request); }

Request* ActivePrograms::front() const {
  admit_held();
  return served_->front();
}

void ActivePrograms::remove(Request& request) {
  if (place_of(request.spec.job) == Place::held) {
    place_of(request.spec.job) = Place::unknown;
    held_->remove(request);
  } else {
    served_->remove(request);
  }
}

int ActivePrograms::size() const {
  admit_held();
  return served_->size();
}

Request& ActivePrograms::choose_victim(const engine::RunningList& running) const {
  return served_->choose_victim(running);
}

void ActivePrograms::on_pin_changed(JobId job, bool pinned) {
  // A job that is held back has not finished a turn, so it has no pin.
  served_->on_pin_changed(job, pinned);
}

std::vector<const Request*> ActivePrograms::in_service_order() const {
  admit_held();
  return served_->in_service_order();
}

bool ActivePrograms::is_over(const Latest& turn) {
  if (turn.request->id != turn.id) return turn.last_turn;
  return turn.request->status == RequestStatus::aborted ||
         (turn.last_turn && turn.request->status == RequestStatus::finished);
}

ActivePrograms::Place& ActivePrograms::place_of(JobId job) const {
  if (engine::index(job) >= places_.size()) places_.resize(engine::index(job) + 1);
  return places_[engine::index(job)];
}

/// Records this turn as the latest of its job.
void ActivePrograms::follow(const Request& request) const {
  const Latest turn{request.spec.job, &request, request.id, request.spec.last_turn};
  const auto known = std::ranges::find(active_, request.spec.job, &Latest::job);
  if (known != active_.end()) {
    *known = turn;
  } else {
    active_.push_back(turn);
  }
}

/// Drops ended jobs and activates held ones up to the limit.
void ActivePrograms::admit_held() const {
  std::erase_if(active_, [&](const Latest& turn) {
    if (!is_over(turn)) return false;
    place_of(turn.job) = Place::unknown;
    return true;
  });
  while (active_.size() < limit_ && held_->size() > 0) {
    Request& next = *held_->front();
    held_->remove(next);
    place_of(next.spec.job) = Place::active;
    follow(next);
    served_->push(next);
  }
}

}  // namespace policies
