#include "workers/record/recorder.hpp"

#include <array>
#include <cstddef>
#include <iterator>

namespace worker {
namespace {

template <class From, class To>
struct Pair {
  From from;
  To to;
};

/// Whether entry i is the name of the engine's enumerator i.
template <class From, class To, std::size_t N>
constexpr bool in_order(const Pair<From, To> (&pairs)[N]) {
  for (std::size_t i = 0; i < N; ++i)
    if (static_cast<std::size_t>(pairs[i].from) != i) return false;
  return true;
}

/// Whether, in addition, names are unique and every name up to `last` is used.
template <class From, class To, std::size_t N>
constexpr bool one_to_one(const Pair<From, To> (&pairs)[N], To last) {
  if (!in_order(pairs) || static_cast<std::size_t>(last) + 1 != N) return false;
  std::array<bool, N> taken{};
  for (const auto& pair : pairs) {
    const auto to = static_cast<std::size_t>(pair.to);
    if (to >= N || taken[to]) return false;
    taken[to] = true;
  }
  return true;
}

constexpr Pair<engine::StopReason, sweep::StopReason> kStops[] = {
    {engine::StopReason::none, sweep::StopReason::none},
    {engine::StopReason::token_budget, sweep::StopReason::tok_budget},
    {engine::StopReason::kv_insufficient, sweep::StopReason::kv_insufficient},
    {engine::StopReason::max_seqs, sweep::StopReason::max_seqs},
    {engine::StopReason::sequence_reserved, sweep::StopReason::isl_reserve},
    {engine::StopReason::chunking_off, sweep::StopReason::chunk_off},
    {engine::StopReason::preempted, sweep::StopReason::preempted},
    {engine::StopReason::active_programs, sweep::StopReason::active_programs},
};
static_assert(in_order(kStops));

constexpr Pair<engine::ScheduleKind, sweep::SchedKind> kSchedules[] = {
    {engine::ScheduleKind::fresh, sweep::SchedKind::fresh},
    {engine::ScheduleKind::resumed, sweep::SchedKind::resumed},
    {engine::ScheduleKind::running, sweep::SchedKind::running},
};
static_assert(in_order(kSchedules));

using Kind = engine::KvEventKind;
using KindName = sweep::KvEventKind;
constexpr Pair<Kind, KindName> kKinds[] = {
    {Kind::pin, KindName::pin},
    {Kind::unpin, KindName::unpin},
    {Kind::keep_declined, KindName::keep_declined},
    {Kind::evict, KindName::evict_gpu},
    {Kind::preempt, KindName::preempt},
    {Kind::store, KindName::store},
    {Kind::load, KindName::load},
    {Kind::evict_host, KindName::evict_host},
    {Kind::drop, KindName::drop},
    {Kind::ttl_decision, KindName::ttl_decision},
    {Kind::prefetch, KindName::prefetch},
    {Kind::demote, KindName::demote},
    {Kind::swap_out, KindName::swap_out},
    {Kind::swap_in, KindName::swap_in},
    {Kind::load_failed, KindName::load_failed},
};
static_assert(one_to_one(kKinds, KindName::load_failed));

using Reason = engine::KvReason;
using ReasonName = sweep::KvEventReason;
constexpr Pair<Reason, ReasonName> kReasons[] = {
    {Reason::none, ReasonName::none},
    {Reason::known_tool, ReasonName::known_tool},
    {Reason::unseen_tool, ReasonName::unseen_tool},
    {Reason::slow_tool, ReasonName::slow_tool},
    {Reason::no_tool, ReasonName::no_tool},
    {Reason::last_turn, ReasonName::last_turn},
    {Reason::ttl, ReasonName::ttl},
    {Reason::handoff, ReasonName::handoff},
    {Reason::replaced, ReasonName::replaced},
    {Reason::job_end, ReasonName::job_end},
    {Reason::pressure_run, ReasonName::pressure_run},
    {Reason::pressure_admit, ReasonName::pressure_admit},
    {Reason::out_of_blocks, ReasonName::out_of_blocks},
    {Reason::cold_start, ReasonName::cold_start},
    {Reason::utility, ReasonName::utility},
    {Reason::rent, ReasonName::rent},
    {Reason::write_through, ReasonName::write_through},
    {Reason::tail, ReasonName::tail},
    {Reason::before_eviction, ReasonName::before_eviction},
    {Reason::swapped_out, ReasonName::swapped_out},
    {Reason::demand, ReasonName::demand},
    {Reason::load_failed, ReasonName::load_failed},
    {Reason::read, ReasonName::read},
    {Reason::unread, ReasonName::unread},
    {Reason::capacity, ReasonName::capacity},
    {Reason::predicted, ReasonName::predicted},
    {Reason::deadline, ReasonName::deadline},
    {Reason::late, ReasonName::late},
    {Reason::early, ReasonName::early},
    {Reason::misprediction, ReasonName::misprediction},
    {Reason::cancelled, ReasonName::cancelled},
    {Reason::no_room, ReasonName::no_room},
    {Reason::partial, ReasonName::partial},
    {Reason::waste, ReasonName::waste},
};
static_assert(one_to_one(kReasons, ReasonName::swapped_out));

template <class From, class To, std::size_t N>
To look_up(const Pair<From, To> (&pairs)[N], From from) {
  return pairs[static_cast<std::size_t>(from)].to;
}

}  // namespace

sweep::StopReason recorded(engine::StopReason reason) { return look_up(kStops, reason); }
sweep::SchedKind recorded(engine::ScheduleKind kind) { return look_up(kSchedules, kind); }
sweep::KvEventKind recorded(engine::KvEventKind kind) { return look_up(kKinds, kind); }
sweep::KvEventReason recorded(engine::KvReason reason) {
  if (reason < Reason::of_rules) return look_up(kReasons, reason);
  // The names of rules' reasons follow the archive's own.
  const int position = static_cast<int>(reason) - static_cast<int>(Reason::of_rules);
  return static_cast<ReasonName>(std::size(kReasons) + static_cast<std::size_t>(position));
}

}  // namespace worker
