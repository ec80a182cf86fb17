#include "sweeps/tables/schema.hpp"

#include <array>

namespace sweep {

namespace {

using Names = std::string_view;

constexpr Names kSchedKinds[] = {"new", "resumed", "running", "preempted"};
// With these names h5py reads numpy booleans.
constexpr Names kBooleans[] = {"FALSE", "TRUE"};

template <class T>
constexpr bool kIsEnumerated = std::is_enum_v<T> || std::is_same_v<T, bool>;

template <auto Member>
struct Gather;

/// Appends one member of every row to a column: enumerations and booleans as int8, other types
/// unchanged.
template <class Row, class Value, Value Row::*Member>
struct Gather<Member> {
  using RowType = Row;
  using ValueType = Value;
  using Stored = std::vector<std::conditional_t<kIsEnumerated<Value>, std::int8_t, Value>>;

  static ColumnData empty() { return Stored(); }
  static void append(std::span<const Row> rows, ColumnData& to) {
    auto& values = std::get<Stored>(to);
    const std::size_t before = values.size();
    values.resize(before + rows.size());
    auto value = values.begin() + static_cast<std::ptrdiff_t>(before);
    for (const Row& row : rows) *value++ = static_cast<typename Stored::value_type>(row.*Member);
  }
};

template <auto Member>
auto field(Names name, Names unit, Names long_name, bool is_volatile = false) {
  using From = Gather<Member>;
  using Value = typename From::ValueType;
  std::span<const Names> names;
  if constexpr (kIsEnumerated<Value>) names = enum_names(Value{});
  return Field<typename From::RowType>{name,  unit,        long_name,   is_volatile,
                                       names, From::empty, From::append};
}

constexpr bool kVolatile = true;

}  // namespace

std::span<const Names> enum_names(SchedKind) { return kSchedKinds; }
std::span<const Names> enum_names(bool) { return kBooleans; }

template <>
Schema<JobRow> schema<JobRow>() {
  using R = JobRow;
  static const std::array kFields = {
      field<&R::job>("job", "", "position of the job in the workload"),
      field<&R::id>("id", "", "name of the job's trajectory"),
      field<&R::t_arrive_s>("t_arrive_s", "s", "arrival of the first turn"),
      field<&R::t_first_token_s>("t_first_token_s", "s", "first token of the first turn"),
      field<&R::t_finish_s>("t_finish_s", "s", "last token of the last turn"),
      field<&R::n_turns>("n_turns", "", "LLM calls of the job"),
      field<&R::jct_wall_s>("jct_wall_s", "s", "job completion time, tool gaps included"),
      field<&R::jct_turns_s>("jct_turns_s", "s", "sum of the turns' latencies, gaps left out"),
      field<&R::queue_s>("queue_s", "s", "time in queue, all turns together"),
      field<&R::preemptions>("preemptions", "", "times that a turn of the job was preempted"),
  };
  return {"jobs", kFields};
}

template <>
Schema<TurnRow> schema<TurnRow>() {
  using R = TurnRow;
  static const std::array kFields = {
      field<&R::job>("job", "", "position of the job in the workload"),
      field<&R::turn>("turn", "", "position of the turn in its job, from 0"),
      field<&R::t_arrive_s>("t_arrive_s", "s", "arrival of the request"),
      field<&R::t_admit_s>("t_admit_s", "s", "start of the first step that scheduled it"),
      field<&R::t_first_token_s>("t_first_token_s", "s", "first generated token"),
      field<&R::t_finish_s>("t_finish_s", "s", "last generated token"),
      field<&R::prompt_tok>("prompt_tok", "tok", "length of the prompt"),
      field<&R::output_tok>("output_tok", "tok", "generated tokens"),
      field<&R::cached_gpu_tok>("cached_gpu_tok", "tok", "prompt tokens found in GPU blocks"),
      field<&R::cached_host_tok>("cached_host_tok", "tok", "prompt tokens loaded from host blocks"),
      field<&R::recomputed_tok>("recomputed_tok", "tok",
                                "tokens computed again after their KV was lost"),
      field<&R::preemptions>("preemptions", "", "times that the turn was preempted"),
      field<&R::queue_s>("queue_s", "s",
                         "waiting, preempted, or running without a share of a step"),
      field<&R::load_stall_s>("load_stall_s", "s", "waiting for KV on its way from the host"),
      field<&R::recompute_s>("recompute_s", "s", "steps spent on tokens computed before"),
      field<&R::prefill_s>("prefill_s", "s", "steps spent on new prompt tokens"),
      field<&R::decode_s>("decode_s", "s", "steps that generated a token after the first"),
      field<&R::gap_s>("gap_s", "s", "tool execution between this turn and the next"),
      field<&R::ttft_s>("ttft_s", "s", "arrival to first token"),
      field<&R::tpot_s>("tpot_s", "s", "mean time of a token after the first"),
      field<&R::tool>("tool", "", "tool that the turn calls"),
      field<&R::last>("last", "", "whether no turn of the agent follows"),
      field<&R::agent>("agent", "", "number of the agent in its job; 0 is the root"),
      field<&R::parent>("parent", "", "the agent that spawned it; 0 for the root itself"),
      field<&R::late_s>("late_s", "s", "sending behind arrival; backend server", kVolatile),
  };
  return {"turns", kFields};
}

template <>
Schema<StepRow> schema<StepRow>() {
  using R = StepRow;
  static const std::array kFields = {
      field<&R::step>("step", "", "engine step, from 1"),
      field<&R::t_s>("t_s", "s", "start of the step"),
      field<&R::dur_s>("dur_s", "s", "duration of the step"),
      field<&R::n_tok>("n_tok", "tok", "scheduled tokens"),
      field<&R::max_tok>("max_tok", "tok", "scheduled tokens of the largest request"),
      field<&R::n_prefill_tok>("n_prefill_tok", "tok", "scheduled prompt tokens"),
      field<&R::n_decode>("n_decode", "", "requests that generate one token"),
      field<&R::n_running>("n_running", "", "running requests after admission"),
      field<&R::n_waiting>("n_waiting", "", "waiting requests after admission"),
      field<&R::n_preempted>("n_preempted", "", "requests preempted in this step"),
      field<&R::blk_used>("blk_used", "blk", "blocks that running requests hold"),
      field<&R::blk_pinned>("blk_pinned", "blk", "blocks that only pins hold"),
      field<&R::blk_cached>("blk_cached", "blk", "blocks with reusable content that nothing holds"),
      field<&R::blk_free>("blk_free", "blk", "empty blocks"),
      field<&R::pinned_jobs>("pinned_jobs", "", "jobs with a pin"),
      field<&R::kv_waste_tok>("kv_waste_tok", "tok",
                              "room in the last blocks of scheduled requests that holds no token"),
      field<&R::h2d_bytes>("h2d_bytes", "B", "bytes copied to the device"),
      field<&R::d2h_bytes>("d2h_bytes", "B", "bytes copied to the host"),
      field<&R::stop_reason>("stop_reason", "", "why admission ended"),
      field<&R::t_schedule_s>("t_schedule_s", "s", "host time of scheduling", kVolatile),
      field<&R::t_launch_s>("t_launch_s", "s", "host time of submitting the step", kVolatile),
      field<&R::t_device_s>("t_device_s", "s", "device time of the forward pass", kVolatile),
      field<&R::t_wait_s>("t_wait_s", "s", "host time of waiting for the device", kVolatile),
      field<&R::window>("window", "tok", "most tokens that the step could have scheduled"),
      field<&R::forward>("forward", "", "what the forward pass computed"),
      field<&R::host_blk_used>("host_blk_used", "blk", "blocks of host memory with KV"),
      field<&R::host_blk_total>("host_blk_total", "blk", "blocks that the host tier has room for"),
      field<&R::n_loading>("n_loading", "", "requests whose KV is on its way from the host"),
      field<&R::n_again_tok>("n_again_tok", "tok",
                             "scheduled tokens of preempted requests that were computed before"),
      field<&R::stall_s>("stall_s", "s",
                         "part of the step in which the whole batch waited for copies"),
      field<&R::h2d_busy_s>("h2d_busy_s", "s", "link time of the bytes copied to the device"),
      field<&R::d2h_busy_s>("d2h_busy_s", "s", "link time of the bytes copied to the host"),
  };
  return {"steps", kFields};
}

template <>
Schema<SchedRow> schema<SchedRow>() {
  using R = SchedRow;
  static const std::array kFields = {
      field<&R::step>("step", "", "engine step, from 1"),
      field<&R::job>("job", "", "position of the job in the workload"),
      field<&R::turn>("turn", "", "position of the turn in its job, from 0"),
      field<&R::kind>("kind", "", "what the step did with the request"),
      field<&R::tokens>("tokens", "tok", "tokens scheduled"),
      field<&R::computed_before>("computed_before", "tok",
                                 "tokens whose KV was there before the step"),
  };
  return {"sched", kFields};
}

template <>
Schema<KvEventRow> schema<KvEventRow>() {
  using R = KvEventRow;
  static const std::array kFields = {
      field<&R::step>("step", "", "engine step, from 1"),
      field<&R::t_s>("t_s", "s", "time of the event"),
      field<&R::job>("job", "", "job whose KV it is; -1: of no job in particular"),
      field<&R::turn>("turn", "", "turn whose KV it is; -1: of no turn in particular"),
      field<&R::kind>("kind", "", "what happened to the KV"),
      field<&R::reason>("reason", "", "why it happened"),
      field<&R::blocks>("blocks", "blk", "blocks concerned"),
      field<&R::bytes>("bytes", "B", "bytes concerned"),
      field<&R::by_job>("by_job", "", "job that caused it; -1: none"),
      field<&R::by_turn>("by_turn", "", "turn that caused it; -1: none"),
      field<&R::deadline_s>("deadline_s", "s", "end of a pin's time to live"),
  };
  return {"kv_events", kFields};
}

template <>
Schema<EvictionRow> schema<EvictionRow>() {
  using R = EvictionRow;
  static const std::array kFields = {
      field<&R::job>("job", "", "position of the job in the workload"),
      field<&R::turn>("turn", "", "position of the turn in its job, from 0"),
      field<&R::step>("step", "", "engine step that preempted the turn"),
      field<&R::mode>("mode", "", "what became of its KV"),
      field<&R::tokens>("tokens", "tok", "tokens whose KV it had"),
      field<&R::blocks>("blocks", "blk", "blocks that it held"),
      field<&R::bytes>("bytes", "B", "bytes that were copied to the host to be kept"),
      field<&R::t_evict_s>("t_evict_s", "s", "when it was preempted"),
      field<&R::t_resume_s>("t_resume_s", "s", "start of the next step that scheduled it"),
      field<&R::out_s>("out_s", "s", "link time of its copy to the host"),
      field<&R::in_s>("in_s", "s", "link time of its copy back to the device"),
      field<&R::recompute_s>("recompute_s", "s",
                             "the turn's time in steps on tokens computed before, from then until "
                             "its next preemption or its end"),
  };
  return {"evictions", kFields};
}

template <>
Schema<KvAccessRow> schema<KvAccessRow>() {
  using R = KvAccessRow;
  static const std::array kFields = {
      field<&R::step>("step", "", "engine step, from 1"),
      field<&R::layer>("layer", "", "transformer layer, from 0"),
      field<&R::kind>("kind", "", "what was done"),
      field<&R::block>("block", "", "KV block of the device"),
      field<&R::first_slot>("first_slot", "tok", "first slot of the block"),
      field<&R::n_slots>("n_slots", "tok", "slots from there on"),
      field<&R::batch_row>("batch_row", "", "the request's row in access_rows of this step"),
      field<&R::kv_head>("kv_head", "", "key head"),
      field<&R::warp>("warp", "", "warp of its thread block", kVolatile),
      field<&R::sm>("sm", "", "multiprocessor; 0 on a processor", kVolatile),
      field<&R::t_s>("t_s", "s", "when the access was issued", kVolatile),
      field<&R::dur_s>("dur_s", "s", "from there until the data was there; 0 for writes",
                       kVolatile),
      field<&R::saturated>("saturated", "", "whether the time exceeds what a record holds",
                           kVolatile),
  };
  return {"kv_access", kFields};
}

template <>
Schema<AccessRowRow> schema<AccessRowRow>() {
  using R = AccessRowRow;
  static const std::array kFields = {
      field<&R::step>("step", "", "engine step, from 1"),
      field<&R::batch_row>("batch_row", "", "position in the step's batch"),
      field<&R::job>("job", "", "position of the job in the workload"),
      field<&R::turn>("turn", "", "position of the turn in its job, from 0"),
      field<&R::phase>("phase", "", "what the row was computed as"),
      field<&R::context>("context", "tok", "tokens with KV after the step"),
      field<&R::new_tok>("new_tok", "tok", "tokens that the step computes"),
      field<&R::read_slots>("read_slots", "tok",
                            "slots that a logged layer has to read, for each head, of keys and of "
                            "values: by the schedule, not by the log"),
  };
  return {"access_rows", kFields};
}

template <>
Schema<AccessKernelRow> schema<AccessKernelRow>() {
  using R = AccessKernelRow;
  static const std::array kFields = {
      field<&R::step>("step", "", "engine step, from 1"),
      field<&R::layer>("layer", "", "transformer layer, from 0"),
      field<&R::kernel>("kernel", "", "which kernel"),
      field<&R::t_start_s>("t_start_s", "s", "when its first warp began", kVolatile),
      field<&R::t_end_s>("t_end_s", "s", "when its last warp was through with KV", kVolatile),
  };
  return {"access_kernels", kFields};
}

template <>
Schema<KvCopyRow> schema<KvCopyRow>() {
  using R = KvCopyRow;
  static const std::array kFields = {
      field<&R::direction>("direction", "", "where the block went"),
      field<&R::memory>("class", "", "how the host holds it"),
      field<&R::block>("block", "", "KV block of the device"),
      field<&R::bytes>("bytes", "B", "bytes of the block"),
      field<&R::t_issue_s>("t_issue_s", "s", "when the copy was asked for", kVolatile),
      field<&R::t_start_s>("t_start_s", "s", "when it began", kVolatile),
      field<&R::t_end_s>("t_end_s", "s", "when it was through", kVolatile),
  };
  return {"kv_copies", kFields};
}

template <>
Schema<TelemetryRow> schema<TelemetryRow>() {
  using R = TelemetryRow;
  static const std::array kFields = {
      field<&R::t_s>("t_s", "s", "time of the sample", kVolatile),
      field<&R::gpu_util_pct>("gpu_util_pct", "%", "share of the last period in which a kernel ran",
                              kVolatile),
      field<&R::mem_util_pct>("mem_util_pct", "%",
                              "share of the last period in which device memory was accessed",
                              kVolatile),
      field<&R::sm_clock_mhz>("sm_clock_mhz", "MHz", "clock of the multiprocessors", kVolatile),
      field<&R::mem_clock_mhz>("mem_clock_mhz", "MHz", "clock of the memory", kVolatile),
      field<&R::power_w>("power_w", "W", "power draw", kVolatile),
      field<&R::temp_c>("temp_c", "degC", "temperature", kVolatile),
      field<&R::throttle_reasons>("throttle_reasons", "", "NVML's bits of why clocks are held down",
                                  kVolatile),
      field<&R::mem_used_bytes>("mem_used_bytes", "B", "device memory in use", kVolatile),
      field<&R::kv_used_pct>("kv_used_pct", "%", "KV pool in use, as a server reports it",
                             kVolatile),
      field<&R::n_running>("n_running", "", "requests that a server runs", kVolatile),
      field<&R::n_waiting>("n_waiting", "", "requests that wait in a server", kVolatile),
      field<&R::preemptions>("preemptions", "", "preemptions of a server since the cell began",
                             kVolatile),
      field<&R::cached_tok>("cached_tok", "tok",
                            "prompt tokens found in a server's cache since the cell began",
                            kVolatile),
      field<&R::host_cached_tok>("host_cached_tok", "tok",
                                 "those loaded from host memory since the cell began", kVolatile),
  };
  return {"telemetry", kFields};
}

}  // namespace sweep
