#include "workers/engine/prefetch/prefetcher.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace engine {
namespace {

constexpr Nanos kMemory = std::chrono::seconds{2};  // half-life of observations
constexpr Nanos kLongMemory = std::chrono::seconds{30};
constexpr Nanos kLittleEarly = std::chrono::milliseconds{250};

constexpr auto evicted_later = [](const auto& a, const auto& b) {
  return std::tuple(a.on_host, a.use_at, b.place) < std::tuple(b.on_host, b.use_at, a.place);
};

}  // namespace

Prefetcher::Prefetcher(PrefetchPolicy& policy, KvCache& kv, HostStore& host,
                       TransferQueue& transfers, TierEvents& events)
    : policy_(policy),
      kv_(kv),
      host_(host),
      transfers_(transfers),
      events_(events),
      victims_(kv),
      kept_(static_cast<std::size_t>(kv.num_usable()) + 1),
      step_s_(kMemory),
      wait_s_(kMemory),
      gap_s_(kLongMemory),
      blocked_(kMemory),
      wanted_tokens_(kLongMemory) {
  kv.set_eviction_order(*this);
}

PausedJob& Prefetcher::job_of(JobId id) {
  while (index(id) >= jobs_.size()) {
    const JobId next{static_cast<std::uint32_t>(jobs_.size())};
    jobs_.emplace_back().id = next;
  }
  return jobs_[index(id)];
}

void Prefetcher::begin_phase(PausedJob& job, JobPhase phase) {
  if (paused(phase) && !paused(job.phase)) paused_.push_back(index(job.id));
  if (!paused(phase) && paused(job.phase)) std::erase(paused_, index(job.id));
  job.phase = phase;
  job.estimated_at = Nanos{-1};
}

void Prefetcher::on_arrival(const Request& request, Nanos now) {
  policy_.on_arrival(request);
  wanted_tokens_.add(request.num_tokens(), now);
  PausedJob& job = job_of(request.spec.job);
  if (job.phase == JobPhase::away) gap_s_.add(to_seconds(now - job.since), now);
  if (job.phase == JobPhase::served) return;  // of two turns of a job at once, one is tracked
  begin_phase(job, JobPhase::back);
  job.since = now;
  job.request = &request;
  job.request_id = request.id;
}

bool Prefetcher::waits_for_fetch(Request& request, int gpu_tokens, Nanos now) {
  PausedJob& job = job_of(request.spec.job);
  Fetch& fetch = job.fetch;
  if (fetch.state != Fetch::State::moving || fetch.cancelled || job.request != &request)
    return false;
  const auto next = static_cast<std::size_t>(fetch.hits);
  const auto full = static_cast<std::size_t>((request.num_tokens() - 1) / kv_.block_size());
  const bool wanted = next < full && request.contents[next] == job.contents[next] &&
                      gpu_tokens < static_cast<int>(fetch.blocks.size()) * kv_.block_size();
  if (!wanted) return false;
  if (std::exchange(fetch.awaited, true)) return true;
  transfers_.raise(fetch.transfer, Urgency::demand, now);
  events_.add(KvEventKind::prefetch, KvReason::late, job.next_turn(),
              static_cast<int>(fetch.blocks.size()) - fetch.hits);
  return true;
}

bool Prefetcher::better_recomputed(int gpu_tokens, int host_tokens, int queued) const {
  const Nanos others = transfers_.expected_load_time(
      queued + transfers_.pending(CopyDirection::load, Urgency::demand));
  const int context = gpu_tokens + host_tokens;
  return to_seconds(others) > policy_.recompute_s(context, host_tokens);
}

void Prefetcher::on_served(const Request& request, Nanos now) {
  PausedJob& job = job_of(request.spec.job);
  if (job.phase == JobPhase::back && job.request == &request) {
    if (request.spec.turn > 0) wait_s_.add(to_seconds(now - job.since), now);
    const bool early = job.since - job.fetch.since > kLittleEarly;
    if (job.fetch.state == Fetch::State::held && early)
      events_.add(KvEventKind::prefetch, KvReason::early, job.next_turn(),
                  static_cast<int>(job.fetch.blocks.size()));
    end_gap(job, now);
  }
  begin_phase(job, JobPhase::served);
}

/// Ends the gap when the turn holds blocks of its own: releases or cancels what was loaded for it.
void Prefetcher::end_gap(PausedJob& job, Nanos now) {
  victims_.unwatch(job);
  if (job.fetch.state == Fetch::State::held) release(job);
  if (job.fetch.state == Fetch::State::moving) {
    job.fetch.cancelled = true;
    transfers_.cancel(job.fetch.transfer, now);
  }
}

void Prefetcher::on_turn_finish(const Request& request, Nanos now) {
  PausedJob& job = job_of(request.spec.job);
  const int full = request.num_computed_tokens / kv_.block_size();
  end_gap(job, now);
  job.contents.assign(request.contents.begin(), request.contents.begin() + full);
  job.turn = request.spec.turn;
  job.stored = full;
  if (request.spec.last_turn) {
    begin_phase(job, JobPhase::unknown);
    ended_.push_back(index(job.id));
    return;
  }
  policy_.on_turn_finish(request, now);
  victims_.watch(job, request);
  begin_phase(job, JobPhase::away);
  job.since = now;
  job.overdue = policy_.returns_by(job.id, 0.95, now);
  job.request = nullptr;
  job.num_fetches = 0;
  job.refused = false;
}

void Prefetcher::expire(Nanos now) {
  now_ = now;
  ranked_ = false;
  for (const std::uint32_t id : ended_) {
    if (jobs_[id].phase != JobPhase::unknown) continue;
    PausedJob& job = jobs_[id];
    for (auto i = shared_blocks(job); i < std::ssize(job.contents); ++i) {
      const ContentId content = job.contents[static_cast<std::size_t>(i)];
      victims_.give_up(content);
      host_.evict_next(content, job.id);
    }
    job.contents.clear();
    job.stored = 0;
  }
  ended_.clear();
  for (std::size_t i = 0; i < paused_.size();) {
    PausedJob& job = jobs_[paused_[i]];
    victims_.refresh(job);
    const bool over = job.fetch.state == Fetch::State::held && job.fetch.until <= now;
    if (over) drop(job, job.phase == JobPhase::away ? KvReason::misprediction : KvReason::deadline);
    end_stale(job);
    if (i < paused_.size() && &jobs_[paused_[i]] == &job) ++i;
  }
}

/// Leading blocks that the job shares with any other job.
int Prefetcher::shared_blocks(const PausedJob& job) const {
  std::size_t most = 0;
  for (const PausedJob& other : jobs_) {
    if (&other == &job) continue;
    const auto [end, theirs] = std::ranges::mismatch(job.contents, other.contents);
    most = std::max(most, static_cast<std::size_t>(end - job.contents.begin()));
  }
  return static_cast<int>(most);
}

/// Ends the gap of a turn that was aborted before it was served: no callback reports that.
void Prefetcher::end_stale(PausedJob& job) {
  if (job.phase != JobPhase::back) return;
  const Request& request = *job.request;
  const bool over = request.id != job.request_id || request.status == RequestStatus::aborted ||
                    request.status == RequestStatus::finished;
  if (!over) return;
  end_gap(job, now_);
  begin_phase(job, JobPhase::unknown);
  ended_.push_back(index(job.id));
}

void Prefetcher::drop(PausedJob& job, KvReason reason) {
  events_.add(KvEventKind::drop, reason, job.next_turn(),
              static_cast<int>(job.fetch.blocks.size()));
  release(job);
}

/// Ends the hold; the content stays cached until its blocks are allocated.
void Prefetcher::release(PausedJob& job) {
  for (const BlockId block : job.fetch.blocks) --kept_[index(block)];
  kv_.unpin(job.fetch.blocks);
  job.fetch.blocks.clear();
  job.fetch.state = Fetch::State::none;
  ranked_ = false;
}

bool Prefetcher::release_prefetched(KvReason pressure, Nanos now) {
  const auto last_used = [&](Fetch::State state) {
    PausedJob* last = nullptr;
    for (PausedJob& job : jobs_) {
      const bool may = job.fetch.state == state && !job.fetch.cancelled && !job.fetch.awaited;
      if (may && (last == nullptr || job.fetch.use_at > last->fetch.use_at)) last = &job;
    }
    return last;
  };
  if (PausedJob* job = last_used(Fetch::State::held)) {
    drop(*job, pressure);
    return true;
  }
  // A cancelled load frees its blocks in the next step.
  if (PausedJob* job = last_used(Fetch::State::moving)) {
    job->fetch.cancelled = true;
    transfers_.cancel(job->fetch.transfer, now);
  }
  return false;
}

/// Blocks that belong to no paused job are evicted in the order of their release. When the next
/// block in that order belongs to a paused job, the tail of the job that will be served last is
/// evicted instead. Blocks with a copy on the host are evicted before the others.
void Prefetcher::before_eviction(int count) {
  BlockId block = kv_.pool().free_head();
  for (; count > 0 && block != BlockId{0}; block = kv_.pool().next_free(block)) {
    if (!kv_.prefix_cache().contains(block)) continue;
    if (victims_.watched(block)) break;
    --count;
  }
  while (count > 0) {
    const std::optional<Victim> victim = next_victim();
    if (!victim) break;
    PausedJob& job = *victim->job;
    const int trimmed = victims_.trim(job, count);
    if (trimmed > 0) {
      events_.add(victim->on_host ? KvEventKind::demote : KvEventKind::drop, KvReason::capacity,
                  {job.id, job.turn}, trimmed);
      count -= trimmed;
      if (may_evict(job)) put_back(victim_of(job, victim->place));
    } else {
      passed_over_.push_back(*victim);
    }
  }
  for (const Victim& victim : passed_over_)
    if (may_evict(*victim.job)) put_back(victim_of(*victim.job, victim.place));
  passed_over_.clear();
}

Prefetcher::Victim Prefetcher::victim_of(PausedJob& job, std::size_t place) {
  return {on_host(job.contents[job.cached.size() - 1]), earliest_use(job, now_), place, &job};
}

bool Prefetcher::may_evict(const PausedJob& job) const {
  return paused(job.phase) && !job.cached.empty() && job.fetch.state == Fetch::State::none;
}

void Prefetcher::put_back(const Victim& victim) {
  ranking_.push_back(victim);
  std::ranges::push_heap(ranking_, evicted_later);
}

/// Ranks once per step and not once per search: many jobs are paused, and ranking looks up each of
/// them.
void Prefetcher::rank_victims() {
  ranking_.clear();
  for (std::size_t place = 0; place < paused_.size(); ++place) {
    PausedJob& job = jobs_[paused_[place]];
    if (may_evict(job)) ranking_.push_back(victim_of(job, place));
  }
  std::ranges::make_heap(ranking_, evicted_later);
  ranked_ = true;
}

std::optional<Prefetcher::Victim> Prefetcher::next_victim() {
  if (!ranked_) rank_victims();
  while (!ranking_.empty()) {
    std::ranges::pop_heap(ranking_, evicted_later);
    const Victim next = ranking_.back();
    ranking_.pop_back();
    if (may_evict(*next.job)) return next;
  }
  return std::nullopt;
}

}  // namespace engine
