#pragma once
#include "sweeps/schema.hpp"
#include "workers/engine/step.hpp"

namespace worker {

/// What the archive calls what the engine says. Each kind and each reason of a KV event has a name
/// of its own, and each name in the archive stands for one of the engine's.
sweep::StopReason recorded(engine::StopReason reason);
sweep::SchedKind recorded(engine::ScheduleKind kind);
sweep::KvEventKind recorded(engine::KvEventKind kind);
sweep::KvEventReason recorded(engine::KvReason reason);

}  // namespace worker
