#include "workers/engine/scheduler/next_use.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

namespace engine {

bool NextUse::Victim::operator<(const Victim& other) const {
  return std::tuple(away, returns, place) < std::tuple(other.away, other.returns, other.place);
}

NextUse::NextUse(KvCache& kv, const QueueOrder& order, ReturnForecast& forecast)
    : kv_(kv), order_(order), forecast_(forecast), blocks_(kv) {
  kv.set_eviction_order(*this);
}

NextUse::Job& NextUse::job_of(JobId id) {
  if (index(id) >= jobs_.size()) jobs_.resize(index(id) + 1);
  return jobs_[index(id)];
}

void NextUse::begin_step(Nanos now) {
  now_ = now;
  ranked_ = false;
}

void NextUse::on_arrival(const Request& request) {
  forecast_.on_arrival(request);
  job_of(request.spec.job).away = false;
}

void NextUse::on_admitted(const Request& request) { unwatch(job_of(request.spec.job)); }

void NextUse::on_preempted(const Request& request) {
  watch(job_of(request.spec.job), request, false);
}

void NextUse::on_aborted(const Request& request) { unwatch(job_of(request.spec.job)); }

void NextUse::on_turn_finish(const Request& request, Nanos now) {
  Job& job = job_of(request.spec.job);
  watch(job, request, true);
  if (!request.spec.last_turn) {
    forecast_.on_turn_finish(request, now);
    return;
  }
  ended_.insert(ended_.end(), job.contents.rbegin(), job.contents.rend());
  unwatch(job);
}

void NextUse::watch(Job& job, const Request& request, bool away) {
  unwatch(job);
  job.away = away;
  // Blocks with a token that is in flight are not registered yet.
  const int known = std::min(request.num_computed_tokens, request.num_tokens());
  const auto full =
      std::min(static_cast<std::size_t>(known / kv_.block_size()), request.contents.size());
  if (full == 0) return;
  job.contents.assign(request.contents.begin(),
                      request.contents.begin() + static_cast<std::ptrdiff_t>(full));
  blocks_.watch(job, request);
  watched_.push_back(index(request.spec.job));
  ranked_ = false;
}

void NextUse::unwatch(Job& job) {
  if (job.contents.empty()) return;
  blocks_.unwatch(job);
  job.contents.clear();
  std::erase(watched_, static_cast<std::uint32_t>(&job - jobs_.data()));
}

/// Of the `count` next evictions, those before the first block of a watched job.
int NextUse::evicted_without_us(int count) const {
  int evicted = 0;
  for (BlockId block = kv_.pool().free_head(); block != BlockId{0} && evicted < count;
       block = kv_.pool().next_free(block)) {
    if (!kv_.prefix_cache().contains(block)) continue;
    if (blocks_.watched(block)) break;
    ++evicted;
  }
  return evicted;
}

/// Up to `count` blocks of jobs that are over become the next to be evicted.
void NextUse::give_up_ended(int count) {
  for (; count > 0 && !ended_.empty(); ended_.pop_front())
    count -= blocks_.give_up(ended_.front()) ? 1 : 0;
}

void NextUse::rank() {
  // A turn that the order does not show is held back: it runs after all that it shows.
  for (const std::uint32_t id : watched_)
    jobs_[id].place = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t place = 0;
  for (const Request* waiting : order_.in_service_order())
    job_of(waiting->spec.job).place = place++;
  ranking_.clear();
  for (const std::uint32_t id : watched_) {
    const Job& job = jobs_[id];
    const Nanos returns = job.away ? forecast_.returns_by(JobId{id}, 0.5, now_) : Nanos{0};
    ranking_.push_back({job.away, returns, job.away ? id : job.place, id});
  }
  std::ranges::make_heap(ranking_, std::less{});
  ranked_ = true;
}

void NextUse::before_eviction(int count) {
  give_up_ended(count);
  count -= evicted_without_us(count);
  if (count > 0 && !ranked_) rank();
  while (count > 0 && !ranking_.empty()) {
    std::ranges::pop_heap(ranking_, std::less{});
    const Victim victim = ranking_.back();
    ranking_.pop_back();
    Job& job = jobs_[victim.job];
    blocks_.refresh(job);
    if (job.cached.empty()) continue;
    const int trimmed = blocks_.trim(job, count);
    count -= trimmed;
    // Where nothing was trimmed, a request or a pin has all that is left.
    if (trimmed == 0) {
      passed_over_.push_back(victim);
    } else {
      ranking_.push_back(victim);
      std::ranges::push_heap(ranking_, std::less{});
    }
  }
  for (const Victim& victim : passed_over_) {
    ranking_.push_back(victim);
    std::ranges::push_heap(ranking_, std::less{});
  }
  passed_over_.clear();
}

}  // namespace engine
