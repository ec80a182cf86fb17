#include "workers/record/recorder.hpp"

#include <array>
#include <cstddef>

namespace worker {
namespace {

// These have the archive's names in the order of the engine's enumerators.
static_assert(static_cast<int>(engine::StopReason::active_programs) ==
              static_cast<int>(sweep::StopReason::active_programs));
static_assert(static_cast<int>(engine::ScheduleKind::running) ==
              static_cast<int>(sweep::SchedKind::running));

/// By the engine's enumerators.
constexpr auto kKinds = [] {
  using enum sweep::KvEventKind;
  return std::array{pin,      unpin,  keep_declined, evict_gpu, preempt,
                    store,    load,   evict_host,    drop,      ttl_decision,
                    prefetch, demote, swap_out,      swap_in,   load_failed};
}();
static_assert(kKinds.size() == static_cast<std::size_t>(engine::KvEventKind::load_failed) + 1);

constexpr auto in_order(auto... names) { return std::array{names...}; }

/// By the engine's enumerators, which have the same names.
constexpr auto kReasons = [] {
  using enum sweep::KvEventReason;
  return in_order(none, known_tool, unseen_tool, slow_tool, no_tool, last_turn, ttl, handoff,
                  replaced, job_end, pressure_run, pressure_admit, out_of_blocks, cold_start,
                  utility, rent, write_through, tail, before_eviction, swapped_out, demand,
                  load_failed, read, unread, capacity, predicted, deadline, late, early,
                  misprediction, cancelled, no_room, partial, waste);
}();
static_assert(kReasons.size() == static_cast<std::size_t>(engine::KvReason::of_rules));

}  // namespace

sweep::StopReason recorded(engine::StopReason reason) {
  return static_cast<sweep::StopReason>(reason);
}
sweep::SchedKind recorded(engine::ScheduleKind kind) { return static_cast<sweep::SchedKind>(kind); }
sweep::KvEventKind recorded(engine::KvEventKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}
sweep::KvEventReason recorded(engine::KvReason reason) {
  using Reason = engine::KvReason;
  if (reason < Reason::of_rules) return kReasons[static_cast<std::size_t>(reason)];
  // The names of rules' reasons follow the archive's own.
  const int position = static_cast<int>(reason) - static_cast<int>(Reason::of_rules);
  return static_cast<sweep::KvEventReason>(kReasons.size() + static_cast<std::size_t>(position));
}

}  // namespace worker
