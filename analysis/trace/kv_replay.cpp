#include "analysis/trace/kv_replay.hpp"

#include <stdexcept>
#include <string>

namespace analysis {

KvReplay::KvReplay(const sweep::CellResult& result)
    : step_(result.steps.values<std::int64_t>("step")),
      event_step_(result.kv_events.values<std::int64_t>("step")),
      start_s_(result.steps.values<double>("t_s")),
      event_s_(result.kv_events.values<double>("t_s")),
      pinned_jobs_(result.steps.values<std::int32_t>("pinned_jobs")),
      job_(result.kv_events.values<std::int32_t>("job")),
      kind_(result.kv_events.values<std::int8_t>("kind")) {}

void KvReplay::advance_to(std::size_t step_row) {
  const std::int64_t step = step_[step_row];
  for (; next_event_ < event_step_.size(); ++next_event_) {
    const std::int64_t of_step = event_step_[next_event_];
    if (of_step > step || (of_step == step && event_s_[next_event_] > start_s_[step_row])) break;
    apply(next_event_);
  }
  const auto held = static_cast<std::int64_t>(pinned_.size());
  if (held == pinned_jobs_[step_row]) return;
  throw std::logic_error("step " + std::to_string(step) + ": pinned_jobs is " +
                         std::to_string(pinned_jobs_[step_row]) + ", but kv_events give " +
                         std::to_string(held));
}

void KvReplay::apply(std::size_t event_row) {
  const std::int32_t job = job_[event_row];
  switch (static_cast<sweep::KvEventKind>(kind_[event_row])) {
    case sweep::KvEventKind::pin:
      pinned_.insert(job);
      break;
    case sweep::KvEventKind::unpin:
      pinned_.erase(job);
      break;
    case sweep::KvEventKind::evict_gpu:
      evicted_from_gpu_s_[job] = event_s_[event_row];
      break;
    case sweep::KvEventKind::evict_host:
      evicted_from_host_s_[job] = event_s_[event_row];
      break;
    default:
      break;
  }
}

LostFrom KvReplay::lost_since(std::int32_t job, double time_s) const {
  const auto later = [&](const auto& last) {
    const auto found = last.find(job);
    return found != last.end() && found->second >= time_s;
  };
  if (later(evicted_from_host_s_)) return LostFrom::host;
  return later(evicted_from_gpu_s_) ? LostFrom::gpu : LostFrom::nowhere;
}

}  // namespace analysis
