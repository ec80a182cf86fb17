// When loads are issued, and for which jobs.
#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

#include "workers/engine/prefetch/prefetcher.hpp"

namespace engine {
namespace {

constexpr int kMostFetches = 3;   // per job and gap; after that its KV is loaded on demand
constexpr int kMostRefusals = 4;  // for lack of room, per step; later candidates are worth less
constexpr double kNoneBlocked = 0.01;
constexpr Nanos kGrace = std::chrono::milliseconds{250};
constexpr Nanos kMargin = std::chrono::milliseconds{5};

}  // namespace

void Prefetcher::observe(const StepPlan& plan, Nanos now) {
  // A request that keeps running shows that the engine was not idle since the previous step.
  const auto runs_on = [](const ScheduledRequest& s) { return s.kind == SchedKind::running; };
  if (now > last_step_ && std::ranges::any_of(plan.scheduled, runs_on))
    step_s_.add(to_seconds(now - last_step_), now);
  last_step_ = now;
  running_ = static_cast<int>(plan.scheduled.size());
  const bool blocked = plan.stop == StopReason::kv_insufficient ||
                       plan.stop == StopReason::isl_reserve || plan.stop == StopReason::preempted;
  blocked_.add(blocked ? 1 : 0, now);
}

Scarcity Prefetcher::scarcity() const {
  const double wanted = std::max(1.0, wanted_tokens_.value());
  const double blocked = blocked_.value() < kNoneBlocked ? 0 : blocked_.value();
  return {.vram_price = blocked / wanted, .dram_price = host_price_, .running = running_};
}

/// The time before which the job's next turn is served with a probability of only 0.2. An overdue
/// job is assumed to take as long again as it is late.
Nanos Prefetcher::earliest_use(PausedJob& job, Nanos now) {
  if (job.estimated_at == now) return job.use_at;
  const Nanos wait = from_seconds(wait_s_.value());
  if (job.phase == JobPhase::back) {
    job.use_at = std::max(now, job.since + wait);
  } else if (job.phase == JobPhase::away) {
    job.use_at = policy_.returns_by(job.id, 0.2, now) + wait;
    if (now > job.overdue) job.use_at += now - job.overdue;
  } else {
    job.use_at = now + from_seconds(gap_s_.value()) + wait;
  }
  job.estimated_at = now;
  return job.use_at;
}

/// The time at which a second too late and a second too early cost the same, as in the newsvendor
/// problem: late KV costs one request-second per second, early KV the price of its blocks. A turn
/// that has arrived is expected to wait for its place in the queue.
Nanos Prefetcher::ready_by(const PausedJob& job, int missing, Nanos now) const {
  const Nanos wait = from_seconds(wait_s_.value());
  if (job.phase == JobPhase::back) return std::max(now, job.since + wait);
  const double early = scarcity().vram_price * missing;
  return policy_.returns_by(job.id, std::clamp(early / (early + 1), 0.02, 0.98), now) + wait;
}

void Prefetcher::plan(const StepPlan& plan, Nanos now) {
  now_ = now;
  ranked_ = false;  // stores have changed the content of the host tier
  for (const ScheduledRequest& share : plan.scheduled)
    if (share.kind != SchedKind::running) on_served(*share.request, now);
  observe(plan, now);
  wakeup_ = Nanos::max();
  due_.clear();
  for (const std::uint32_t id : paused_) {
    PausedJob& job = jobs_[id];
    if (job.fetch.state == Fetch::State::held)
      wakeup_ = std::min(wakeup_, std::max(job.fetch.until, now + Nanos{1}));
    if (const auto found = candidate(job, now)) due_.push_back(*found);
  }
  std::ranges::sort(due_, [](const Candidate& a, const Candidate& b) {
    return std::tuple(-a.density, a.use_at) < std::tuple(-b.density, b.use_at);
  });
  int without_room = 0;
  for (const Candidate& found : due_) {
    if (without_room == kMostRefusals) break;
    without_room += begin(found, now) ? 0 : 1;
  }
  // An idle engine wakes when the loads in flight will have arrived.
  if (const int blocks = transfers_.pending(CopyDirection::load, Urgency::prefetch); blocks > 0)
    wakeup_ = std::min(wakeup_, now + std::max(Nanos{1}, transfers_.expected_load_time(blocks)));
  assert(wakeup_ > now);
}

/// Returns a load that is due; otherwise lowers wakeup_ to the time when it is.
std::optional<Prefetcher::Candidate> Prefetcher::candidate(PausedJob& job, Nanos now) {
  if (job.fetch.state != Fetch::State::none || job.num_fetches >= kMostFetches) return {};
  // Gives up on a turn after twice the gap at which it became overdue.
  const bool away = job.phase == JobPhase::away;
  if (away && now > job.overdue + (job.overdue - job.since)) return {};
  const LoadTime when = policy_.load_time(job.id, !away);
  if (when == LoadTime::on_demand) return {};
  const auto missing = static_cast<int>(job.contents.size() - job.cached.size());
  if (missing == 0 || !on_host(job.contents[job.cached.size()])) return {};
  const Nanos use_at = ready_by(job, missing * kv_.block_size(), now);
  auto found = weigh(job, missing, use_at, now);
  if (!found) return {};
  found->at_once |= when == LoadTime::with_room;
  if (found->at_once) return found;
  const Nanos backlog =
      transfers_.expected_load_time(transfers_.pending(CopyDirection::load, Urgency::prefetch));
  const Nanos margin = from_seconds(2 * step_s_.value()) + kMargin;
  const Nanos begin_at = use_at - found->load_time - backlog - margin;
  if (begin_at <= now) return found;
  wakeup_ = std::min(wakeup_, begin_at);
  return {};
}

std::optional<Prefetcher::Candidate> Prefetcher::weigh(PausedJob& job, int missing, Nanos use_at,
                                                       Nanos now) {
  const int others = transfers_.pending(CopyDirection::load, Urgency::prefetch);
  const Scarcity scarce = scarcity();
  AwaitedKv kv;
  kv.context_tokens = static_cast<int>(job.contents.size()) * kv_.block_size();
  kv.missing_tokens = missing * kv_.block_size();
  kv.until_use = use_at - now;
  kv.load_time = transfers_.expected_load_time(missing);
  kv.held = std::max(kv.load_time, std::min(kv.until_use, kv.load_time + kGrace));
  kv.late = std::max(Nanos{0}, now + transfers_.expected_load_time(others) + kv.load_time - use_at);
  kv.loads_delayed = transfers_.count(CopyDirection::load);
  const double worth = policy_.score(kv, scarce);
  if (!(worth > 0)) return {};
  const bool idle = scarce.vram_price == 0 && !transfers_.busy() && job.phase == JobPhase::away &&
                    job.num_fetches == 0 && kv_.census().empty >= missing;
  return Candidate{&job, use_at, kv.load_time, worth / kv.missing_tokens, idle};
}

/// Free blocks, less those cached for jobs that are likely to be served earlier than this one.
int Prefetcher::room_for(const PausedJob& job, Nanos now) {
  int room = kv_.num_free();
  for (const std::uint32_t id : paused_) {
    PausedJob& other = jobs_[id];
    const bool cached = !other.cached.empty() && other.fetch.state == Fetch::State::none;
    if (&other == &job || !cached || earliest_use(other, now) > job.use_at) continue;
    room -= static_cast<int>(other.cached.size());
  }
  return room;
}

void Prefetcher::refuse(PausedJob& job, KvReason reason, int blocks, Nanos deadline) {
  if (std::exchange(job.refused, true)) return;
  events_.add_due(KvEventKind::prefetch, reason, job.next_turn(), blocks, deadline);
}

/// Issues the load. False when there is no room.
bool Prefetcher::begin(const Candidate& found, Nanos now) {
  PausedJob& job = *found.job;
  earliest_use(job, now);
  const auto lost = static_cast<int>(job.contents.size() - job.cached.size());
  if (room_for(job, now) < lost) {
    refuse(job, KvReason::no_room, lost, found.use_at);
    return false;
  }
  hits_.clear();
  while (hits_.size() < job.contents.size()) {
    const auto block = kv_.prefix_cache().find(job.contents[hits_.size()]);
    if (!block) break;
    hits_.push_back(*block);
  }
  int missing = 0;
  while (hits_.size() + static_cast<std::size_t>(missing) < job.contents.size() &&
         on_host(job.contents[hits_.size() + static_cast<std::size_t>(missing)]))
    ++missing;
  if (missing == 0) return true;
  const int others = transfers_.pending(CopyDirection::load, Urgency::prefetch);
  if (now + transfers_.expected_load_time(others) > found.use_at + found.load_time) {
    refuse(job, KvReason::cancelled, missing, found.use_at);
    return true;
  }
  Request turn;
  turn.spec.job = job.id;
  turn.spec.turn = job.turn + 1;
  if (kv_.try_admit_loading(turn, hits_, missing * kv_.block_size(), 0).fit != Fit::ok) {
    refuse(job, KvReason::no_room, missing, found.use_at);
    return false;
  }
  submit(found, turn, hits_, now);
  return true;
}

void Prefetcher::submit(const Candidate& found, Request& turn, std::span<const BlockId> hits,
                        Nanos now) {
  PausedJob& job = *found.job;
  Fetch& fetch = job.fetch;
  std::vector<BlockCopy> copies;
  HostUse use;
  for (std::size_t i = hits.size(); i < turn.blocks.size(); ++i) {
    kv_.begin_copy(turn.blocks[i]);
    copies.push_back({turn.blocks[i], host_.begin_read(job.contents[i])});
    host_.use(copies.back().slot, static_cast<int>(i), use);
  }
  host_.finish(job.contents, use);
  fetch.contents.assign(job.contents.begin(), job.contents.begin() + std::ssize(turn.blocks));
  fetch.blocks = kv_.pin(turn);
  for (const BlockId block : fetch.blocks) ++kept_[index(block)];
  fetch.hits = static_cast<int>(hits.size());
  fetch.state = Fetch::State::moving;
  fetch.cancelled = false;
  fetch.kept_when_there = !found.at_once || job.phase == JobPhase::back;
  fetch.awaited = false;
  fetch.use_at = found.use_at;
  // Queue times are predicted less well than tool times: allows a turn that has arrived twice the
  // wait.
  const Nanos wait = from_seconds(wait_s_.value());
  const Nanos latest = job.phase == JobPhase::away ? job.overdue : found.use_at;
  fetch.until = std::max({now, found.use_at, latest + wait}) + std::max(kGrace, found.load_time);
  fetch.transfer =
      transfers_.submit({CopyDirection::load, Urgency::prefetch, found.use_at}, copies);
  ++job.num_fetches;
  events_.add_due(KvEventKind::prefetch, found.at_once ? KvReason::predicted : KvReason::deadline,
                  job.next_turn(), static_cast<int>(copies.size()), found.use_at);
}

bool Prefetcher::on_transfer_done(const TransferDone& done, Nanos now) {
  const auto job = std::ranges::find_if(jobs_, [&](const PausedJob& j) {
    return j.fetch.state == Fetch::State::moving && j.fetch.transfer == done.id;
  });
  if (job == jobs_.end()) return false;
  take_over(*job, done, now);
  return true;
}

/// Registers the blocks that have landed in the prefix cache.
void Prefetcher::take_over(PausedJob& job, const TransferDone& done, Nanos now) {
  Fetch& fetch = job.fetch;
  const auto hits = static_cast<std::size_t>(fetch.hits);
  const auto landed = hits + static_cast<std::size_t>(done.landed);
  Request turn;
  turn.spec.job = job.id;
  turn.spec.turn = job.turn;
  turn.contents = fetch.contents;
  turn.blocks = fetch.blocks;
  turn.num_hashed_blocks = fetch.hits;
  turn.num_computed_tokens = static_cast<int>(landed) * kv_.block_size();
  kv_.register_loaded(turn);
  for (std::size_t i = fetch.blocks.size(); i-- > hits;) {
    host_.end_read(host_.slot_of(*host_.find(fetch.contents[i])), !done.failed || i < landed);
    kv_.end_copy(fetch.blocks[i]);
  }
  const auto lost = static_cast<int>(fetch.blocks.size() - landed);
  if (lost > 0)
    events_.add(done.failed ? KvEventKind::load_failed : KvEventKind::prefetch,
                done.failed ? KvReason::load_failed : KvReason::cancelled, job.next_turn(), lost);
  const auto rest = std::span(fetch.blocks).subspan(landed);
  for (const BlockId block : rest) --kept_[index(block)];
  kv_.unpin(rest);
  fetch.blocks.resize(landed);
  for (std::size_t i = job.cached.size(); paused(job.phase) && i < landed; ++i)
    victims_.watch(job, fetch.blocks[i]);
  fetch.state = Fetch::State::held;
  fetch.awaited = false;
  fetch.since = now;
  if (!paused(job.phase) || fetch.cancelled || !fetch.kept_when_there) release(job);
}

/// The saving of a token of the job's KV for each second in the host tier.
double Prefetcher::value_per_second(PausedJob& job, Nanos now) {
  AwaitedKv kv;
  // Nothing is known of a first turn until it ends: it counts as one block.
  const int blocks = std::max(1, static_cast<int>(job.contents.size()));
  kv.context_tokens = kv.missing_tokens = blocks * kv_.block_size();
  kv.until_use = std::max(earliest_use(job, now) - now, Nanos{1'000'000});
  kv.load_time = transfers_.expected_load_time(blocks);
  const double worth = policy_.score(kv, {.running = running_});
  return worth / kv.missing_tokens / to_seconds(kv.until_use);
}

PausedJob* Prefetcher::least_valuable_on_host(Nanos now) {
  if (least_at_ == now && least_->stored > 0) return least_;
  least_ = nullptr;
  for (PausedJob& job : jobs_) {
    if (job.stored == 0) continue;
    const double worth = value_per_second(job, now);
    if (least_ != nullptr && worth >= host_price_) continue;
    least_ = &job;
    host_price_ = worth;
  }
  least_at_ = least_ == nullptr ? Nanos{-1} : now;
  return least_;
}

int Prefetcher::make_host_room(const TurnRef& of, int blocks, Nanos now) {
  if (!policy_.ranks_host_tier()) return blocks;
  PausedJob& own = job_of(of.job);
  constexpr int kQuantum = 32;
  while (host_.room() < blocks) {
    PausedJob* const least = least_valuable_on_host(now);
    if (least == nullptr) return blocks;
    if (least == &own || host_price_ >= value_per_second(own, now)) return host_.room();
    trim_host(*least, kQuantum);
  }
  return blocks;
}

/// Makes up to `count` of the job's last blocks the next to be evicted from the host tier.
void Prefetcher::trim_host(PausedJob& job, int count) {
  for (; job.stored > 0 && count > 0; --job.stored)
    count -= host_.evict_next(job.contents[static_cast<std::size_t>(job.stored) - 1], job.id);
}

}  // namespace engine
