#pragma once
#include "sweeps/tables/schema.hpp"
#include "workers/engine/step/step.hpp"

namespace worker {

/// The archive's names for the engine's enumerators. Each kind and each reason of a KV event has a
/// name of its own, and each name in the archive belongs to exactly one of the engine's. The
/// reasons that rules declare follow the archive's own, in the order of the engine's.
sweep::StopReason recorded(engine::StopReason reason);
sweep::SchedKind recorded(engine::ScheduleKind kind);
sweep::KvEventKind recorded(engine::KvEventKind kind);
sweep::KvEventReason recorded(engine::KvReason reason);

}  // namespace worker
