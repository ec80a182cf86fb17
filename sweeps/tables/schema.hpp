#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sweeps/tables/decisions.hpp"
#include "sweeps/tables/row_type.hpp"

namespace sweep {

/// A time or rate that was not observed.
inline constexpr double kNotObserved = std::numeric_limits<double>::quiet_NaN();

// Rows of a cell's tables. Times are in seconds from the cell's own zero, sizes in bytes, blocks
// in KV blocks.

inline constexpr bool kVolatile = true;

/// The kinds of a step's forward pass.
SWEEP_ENUM(ForwardKind, none, prefill, decode, mixed)

/// The KV that a preempted request lost: recompute: all; swap: none; partial: what did not fit into
/// host memory.
SWEEP_ENUM(EvictionMode, recompute, swap, partial)

/// Type of an access to consecutive slots of one KV block.
SWEEP_ENUM(KvAccessKind, read_key, read_value, write_key, write_value)

/// Phase in which a row of a batch was computed.
SWEEP_ENUM(AccessPhase, prefill, decode)

/// The kernels that touch KV.
SWEEP_ENUM(AccessKernel, append, prefill_attention, decode_attention)

SWEEP_ENUM(CopyDirection, to_host, to_device)

/// Kind of host memory that holds KV: pinned (page-locked) or pageable.
SWEEP_ENUM(HostMemoryClass, pinned, pageable)

SWEEP_ROW(JobRow, "jobs", (std::int32_t, job, 0, "", "position of the job in the workload"),
          (std::string, id, "", "", "name of the job's trajectory"),
          (double, t_arrive_s, kNotObserved, "s", "arrival of the first turn"),
          (double, t_first_token_s, kNotObserved, "s", "first token of the first turn"),
          (double, t_finish_s, kNotObserved, "s", "last token of the last turn"),
          (std::int32_t, n_turns, 0, "", "LLM calls of the job"),
          (double, jct_wall_s, kNotObserved, "s", "job completion time, tool gaps included"),
          (double, jct_turns_s, kNotObserved, "s", "sum of the turns' latencies, gaps left out"),
          (double, queue_s, kNotObserved, "s", "time in queue, all turns together"),
          (std::int32_t, preemptions, 0, "", "times that a turn of the job was preempted"))

SWEEP_ROW(TurnRow, "turns", (std::int32_t, job, 0, "", "position of the job in the workload"),
          (std::int32_t, turn, 0, "", "position of the turn in its job, from 0"),
          (double, t_arrive_s, kNotObserved, "s", "arrival of the request"),
          (double, t_admit_s, kNotObserved, "s", "start of the first step that scheduled it"),
          (double, t_first_token_s, kNotObserved, "s", "first generated token"),
          (double, t_finish_s, kNotObserved, "s", "last generated token"),
          (std::int32_t, prompt_tok, 0, "tok", "length of the prompt"),
          (std::int32_t, output_tok, 0, "tok", "generated tokens"),
          (std::int32_t, cached_gpu_tok, 0, "tok", "prompt tokens found in GPU blocks"),
          (std::int32_t, cached_host_tok, 0, "tok", "prompt tokens loaded from host blocks"),
          (std::int32_t, recomputed_tok, 0, "tok", "tokens computed again after their KV was lost"),
          (std::int32_t, preemptions, 0, "", "times that the turn was preempted"),
          (double, queue_s, kNotObserved, "s",
           "waiting, preempted, or running without a share of a step"),
          (double, load_stall_s, kNotObserved, "s", "waiting for KV on its way from the host"),
          (double, recompute_s, kNotObserved, "s", "steps spent on tokens computed before"),
          (double, prefill_s, kNotObserved, "s", "steps spent on new prompt tokens"),
          (double, decode_s, kNotObserved, "s", "steps that generated a token after the first"),
          (double, gap_s, kNotObserved, "s", "tool execution between this turn and the next"),
          (double, ttft_s, kNotObserved, "s", "arrival to first token"),
          (double, tpot_s, kNotObserved, "s", "mean time of a token after the first"),
          (std::string, tool, "", "", "tool that the turn calls"),
          (bool, last, false, "", "whether no turn of the agent follows"),
          (std::int32_t, agent, 0, "", "number of the agent in its job; 0 is the root"),
          (std::int32_t, parent, 0, "", "the agent that spawned it; 0 for the root itself"),
          (double, late_s, kNotObserved, "s", "sending behind arrival; backend server", kVolatile),
          (std::int32_t, cached_disk_tok, 0, "tok",
           "of cached_host_tok, those read from the disk for the turn"))

SWEEP_ROW(StepRow, "steps", (std::int64_t, step, 0, "", "engine step, from 1"),
          (double, t_s, 0, "s", "start of the step"),
          (double, dur_s, 0, "s", "duration of the step"),
          (std::int32_t, n_tok, 0, "tok", "scheduled tokens"),
          (std::int32_t, max_tok, 0, "tok", "scheduled tokens of the largest request"),
          (std::int32_t, n_prefill_tok, 0, "tok", "scheduled prompt tokens"),
          (std::int32_t, n_decode, 0, "", "requests that generate one token"),
          (std::int32_t, n_running, 0, "", "running requests after admission"),
          (std::int32_t, n_waiting, 0, "", "waiting requests after admission"),
          (std::int32_t, n_preempted, 0, "", "requests preempted in this step"),
          (std::int32_t, blk_used, 0, "blk", "blocks that running requests hold"),
          (std::int32_t, blk_pinned, 0, "blk", "blocks that only pins hold"),
          (std::int32_t, blk_cached, 0, "blk", "blocks with reusable content that nothing holds"),
          (std::int32_t, blk_free, 0, "blk", "empty blocks"),
          (std::int32_t, pinned_jobs, 0, "", "jobs with a pin"),
          (std::int32_t, kv_waste_tok, 0, "tok",
           "room in the last blocks of scheduled requests that holds no token"),
          (std::int64_t, h2d_bytes, 0, "B", "bytes copied to the device"),
          (std::int64_t, d2h_bytes, 0, "B", "bytes copied to the host"),
          (StopReason, stop_reason, StopReason::none, "", "why admission ended"),
          (double, t_schedule_s, kNotObserved, "s", "host time of scheduling", kVolatile),
          (double, t_launch_s, kNotObserved, "s", "host time of submitting the step", kVolatile),
          (double, t_device_s, kNotObserved, "s", "device time of the forward pass", kVolatile),
          (double, t_wait_s, kNotObserved, "s", "host time of waiting for the device", kVolatile),
          (std::int32_t, window, 0, "tok", "most tokens that the step could have scheduled"),
          (ForwardKind, forward, ForwardKind::none, "", "what the forward pass computed"),
          (std::int32_t, host_blk_used, 0, "blk", "blocks of host memory with KV"),
          (std::int32_t, host_blk_total, 0, "blk", "blocks that the host tier has room for"),
          (std::int32_t, n_loading, 0, "", "requests whose KV is on its way from the host"),
          (std::int32_t, n_again_tok, 0, "tok",
           "scheduled tokens of preempted requests that were computed before"),
          (double, stall_s, kNotObserved, "s",
           "part of the step in which the whole batch waited for copies"),
          (double, h2d_busy_s, kNotObserved, "s", "link time of the bytes copied to the device"),
          (double, d2h_busy_s, kNotObserved, "s", "link time of the bytes copied to the host"))

SWEEP_ROW(SchedRow, "sched", (std::int64_t, step, 0, "", "engine step, from 1"),
          (std::int32_t, job, 0, "", "position of the job in the workload"),
          (std::int32_t, turn, 0, "", "position of the turn in its job, from 0"),
          (SchedKind, kind, SchedKind::running, "", "what the step did with the request"),
          (std::int32_t, tokens, 0, "tok", "tokens scheduled"),
          (std::int32_t, computed_before, 0, "tok", "tokens whose KV was there before the step"))

SWEEP_ROW(KvEventRow, "kv_events", (std::int64_t, step, 0, "", "engine step, from 1"),
          (double, t_s, 0, "s", "time of the event"),
          (std::int32_t, job, -1, "", "job whose KV it is; -1: of no job in particular"),
          (std::int32_t, turn, -1, "", "turn whose KV it is; -1: of no turn in particular"),
          (KvEventKind, kind, KvEventKind::pin, "", "what happened to the KV"),
          (KvReason, reason, KvReason::none, "", "why it happened"),
          (std::int32_t, blocks, 0, "blk", "blocks concerned"),
          (std::int64_t, bytes, 0, "B", "bytes concerned"),
          (std::int32_t, by_job, -1, "", "job that caused it; -1: none"),
          (std::int32_t, by_turn, -1, "", "turn that caused it; -1: none"),
          (double, deadline_s, kNotObserved, "s", "end of a pin's time to live"))

/// One preemption, and how the request was resumed.
SWEEP_ROW(EvictionRow, "evictions",
          (std::int32_t, job, 0, "", "position of the job in the workload"),
          (std::int32_t, turn, 0, "", "position of the turn in its job, from 0"),
          (std::int64_t, step, 0, "", "engine step that preempted the turn"),
          (EvictionMode, mode, EvictionMode::recompute, "", "what became of its KV"),
          (std::int32_t, tokens, 0, "tok", "tokens whose KV it had"),
          (std::int32_t, blocks, 0, "blk", "blocks that it held"),
          (std::int64_t, bytes, 0, "B", "bytes that were copied to the host to be kept"),
          (double, t_evict_s, kNotObserved, "s", "when it was preempted"),
          (double, t_resume_s, kNotObserved, "s", "start of the next step that scheduled it"),
          (double, out_s, 0, "s", "link time of its copy to the host"),
          (double, in_s, 0, "s", "link time of its copy back to the device"),
          (double, recompute_s, kNotObserved, "s",
           "the turn's time in steps on tokens computed before, from then until its next "
           "preemption or its end"))

/// One access of a kernel to the KV cache: consecutive slots of one block, for one KV head.
SWEEP_ROW(KvAccessRow, "kv_access", (std::int64_t, step, 0, "", "engine step, from 1"),
          (std::int32_t, layer, 0, "", "transformer layer, from 0"),
          (KvAccessKind, kind, KvAccessKind::read_key, "", "what was done"),
          (std::int32_t, block, 0, "", "KV block of the device"),
          (std::int32_t, first_slot, 0, "tok", "first slot of the block"),
          (std::int32_t, n_slots, 0, "tok", "slots from there on"),
          (std::int32_t, batch_row, 0, "", "the request's row in access_rows of this step"),
          (std::int32_t, kv_head, 0, "", "key head"),
          (std::int32_t, warp, 0, "", "warp of its thread block", kVolatile),
          (std::int32_t, sm, 0, "", "multiprocessor; 0 on a processor", kVolatile),
          (double, t_s, kNotObserved, "s", "when the access was issued", kVolatile),
          (double, dur_s, 0, "s", "from there until the data was there; 0 for writes", kVolatile),
          (bool, saturated, false, "", "whether the time exceeds what a record holds", kVolatile))

/// A request's part of a step with logged accesses.
SWEEP_ROW(AccessRowRow, "access_rows", (std::int64_t, step, 0, "", "engine step, from 1"),
          (std::int32_t, batch_row, 0, "", "position in the step's batch"),
          (std::int32_t, job, 0, "", "position of the job in the workload"),
          (std::int32_t, turn, 0, "", "position of the turn in its job, from 0"),
          (AccessPhase, phase, AccessPhase::prefill, "", "what the row was computed as"),
          (std::int32_t, context, 0, "tok", "tokens with KV after the step"),
          (std::int32_t, new_tok, 0, "tok", "tokens that the step computes"),
          (std::int64_t, read_slots, 0, "tok",
           "slots that a logged layer has to read, for each head, of keys and of values: by the "
           "schedule, not by the log"))

/// A kernel launch with logged accesses.
SWEEP_ROW(AccessKernelRow, "access_kernels", (std::int64_t, step, 0, "", "engine step, from 1"),
          (std::int32_t, layer, 0, "", "transformer layer, from 0"),
          (AccessKernel, kernel, AccessKernel::append, "", "which kernel"),
          (double, t_start_s, kNotObserved, "s", "when its first warp began", kVolatile),
          (double, t_end_s, kNotObserved, "s", "when its last warp was through with KV", kVolatile))

/// A copy of a KV block between device and host, in archives of earlier programs.
SWEEP_ROW(KvCopyRow, "kv_copies",
          (CopyDirection, direction, CopyDirection::to_host, "", "where the block went"),
          (HostMemoryClass, memory, HostMemoryClass::pinned, "", "how the host holds it", "class"),
          (std::int32_t, block, 0, "", "KV block of the device"),
          (std::int64_t, bytes, 0, "B", "bytes of the block"),
          (double, t_issue_s, kNotObserved, "s", "when the copy was asked for", kVolatile),
          (double, t_start_s, kNotObserved, "s", "when it began", kVolatile),
          (double, t_end_s, kNotObserved, "s", "when it was through", kVolatile))

/// A sample of the GPU's state (NVML), one per second while a cell runs, or of a server's metrics,
/// five per second.
SWEEP_ROW(TelemetryRow, "telemetry", (double, t_s, 0, "s", "time of the sample", kVolatile),
          (double, gpu_util_pct, kNotObserved, "%",
           "share of the last period in which a kernel ran", kVolatile),
          (double, mem_util_pct, kNotObserved, "%",
           "share of the last period in which device memory was accessed", kVolatile),
          (double, sm_clock_mhz, kNotObserved, "MHz", "clock of the multiprocessors", kVolatile),
          (double, mem_clock_mhz, kNotObserved, "MHz", "clock of the memory", kVolatile),
          (double, power_w, kNotObserved, "W", "power draw", kVolatile),
          (double, temp_c, kNotObserved, "degC", "temperature", kVolatile),
          (std::int64_t, throttle_reasons, 0, "", "NVML's bits of why clocks are held down",
           kVolatile),
          (std::int64_t, mem_used_bytes, 0, "B", "device memory in use", kVolatile),
          (double, kv_used_pct, kNotObserved, "%", "KV pool in use, as a server reports it",
           kVolatile),
          (double, n_running, kNotObserved, "", "requests that a server runs", kVolatile),
          (double, n_waiting, kNotObserved, "", "requests that wait in a server", kVolatile),
          (double, preemptions, kNotObserved, "", "preemptions of a server since the cell began",
           kVolatile),
          (double, cached_tok, kNotObserved, "tok",
           "prompt tokens found in a server's cache since the cell began", kVolatile),
          (double, host_cached_tok, kNotObserved, "tok",
           "those loaded from host memory since the cell began", kVolatile))

template <class Enum>
std::string_view to_text(Enum value) requires std::is_enum_v<Enum> {
  return enum_names(value)[static_cast<std::size_t>(value)];
}

}  // namespace sweep
