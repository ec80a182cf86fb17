#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sweeps/tables/decisions.hpp"
#include "sweeps/tables/table.hpp"

namespace sweep {

/// A time or rate that was not observed.
inline constexpr double kNotObserved = std::numeric_limits<double>::quiet_NaN();

// Rows of a cell's tables. Times are in seconds from the cell's own zero, sizes in bytes, blocks
// in KV blocks. Member names are column names; schema.cpp adds unit and meaning.

/// What the forward pass of a step computed.
SWEEP_ENUM(ForwardKind, none, prefill, decode, mixed)

/// What a preempted request lost: recompute: all KV; swap: none; partial: what did not fit into
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

struct JobRow {
  std::int32_t job = 0;
  std::string id;
  double t_arrive_s = kNotObserved;
  double t_first_token_s = kNotObserved;
  double t_finish_s = kNotObserved;
  std::int32_t n_turns = 0;
  double jct_wall_s = kNotObserved;
  double jct_turns_s = kNotObserved;
  double queue_s = kNotObserved;
  std::int32_t preemptions = 0;
};

struct TurnRow {
  std::int32_t job = 0;
  std::int32_t turn = 0;
  double t_arrive_s = kNotObserved;
  double t_admit_s = kNotObserved;
  double t_first_token_s = kNotObserved;
  double t_finish_s = kNotObserved;
  std::int32_t prompt_tok = 0;
  std::int32_t output_tok = 0;
  std::int32_t cached_gpu_tok = 0;
  std::int32_t cached_host_tok = 0;
  std::int32_t recomputed_tok = 0;
  std::int32_t preemptions = 0;
  double queue_s = kNotObserved;
  double load_stall_s = kNotObserved;
  double recompute_s = kNotObserved;
  double prefill_s = kNotObserved;
  double decode_s = kNotObserved;
  double gap_s = kNotObserved;
  double ttft_s = kNotObserved;
  double tpot_s = kNotObserved;
  std::string tool;
  bool last = false;
  std::int32_t agent = 0;
  std::int32_t parent = 0;
  double late_s = kNotObserved;
};

struct StepRow {
  std::int64_t step = 0;
  double t_s = 0;
  double dur_s = 0;
  std::int32_t n_tok = 0;
  std::int32_t max_tok = 0;
  std::int32_t n_prefill_tok = 0;
  std::int32_t n_decode = 0;
  std::int32_t n_running = 0;
  std::int32_t n_waiting = 0;
  std::int32_t n_preempted = 0;
  std::int32_t blk_used = 0;
  std::int32_t blk_pinned = 0;
  std::int32_t blk_cached = 0;
  std::int32_t blk_free = 0;
  std::int32_t pinned_jobs = 0;
  std::int32_t kv_waste_tok = 0;
  std::int64_t h2d_bytes = 0;
  std::int64_t d2h_bytes = 0;
  StopReason stop_reason = StopReason::none;
  double t_schedule_s = kNotObserved;
  double t_launch_s = kNotObserved;
  double t_device_s = kNotObserved;
  double t_wait_s = kNotObserved;
  std::int32_t window = 0;
  ForwardKind forward = ForwardKind::none;
  std::int32_t host_blk_used = 0;
  std::int32_t host_blk_total = 0;
  std::int32_t n_loading = 0;
  std::int32_t n_again_tok = 0;
  double stall_s = kNotObserved;
  double h2d_busy_s = kNotObserved;
  double d2h_busy_s = kNotObserved;
};

struct SchedRow {
  std::int64_t step = 0;
  std::int32_t job = 0;
  std::int32_t turn = 0;
  SchedKind kind = SchedKind::running;
  std::int32_t tokens = 0;
  std::int32_t computed_before = 0;
};

struct KvEventRow {
  std::int64_t step = 0;
  double t_s = 0;
  std::int32_t job = -1;
  std::int32_t turn = -1;
  KvEventKind kind = KvEventKind::pin;
  KvReason reason = KvReason::none;
  std::int32_t blocks = 0;
  std::int64_t bytes = 0;
  std::int32_t by_job = -1;
  std::int32_t by_turn = -1;
  double deadline_s = kNotObserved;
};

/// One preemption, and how the request was resumed.
struct EvictionRow {
  std::int32_t job = 0;
  std::int32_t turn = 0;
  std::int64_t step = 0;
  EvictionMode mode = EvictionMode::recompute;
  std::int32_t tokens = 0;
  std::int32_t blocks = 0;
  std::int64_t bytes = 0;
  double t_evict_s = kNotObserved;
  double t_resume_s = kNotObserved;
  double out_s = 0;
  double in_s = 0;
  double recompute_s = kNotObserved;
};

/// One access of a kernel to the KV cache: consecutive slots of one block, for one KV head.
struct KvAccessRow {
  std::int64_t step = 0;
  std::int32_t layer = 0;
  KvAccessKind kind = KvAccessKind::read_key;
  std::int32_t block = 0;
  std::int32_t first_slot = 0;
  std::int32_t n_slots = 0;
  std::int32_t batch_row = 0;
  std::int32_t kv_head = 0;
  std::int32_t warp = 0;
  std::int32_t sm = 0;
  double t_s = kNotObserved;
  double dur_s = 0;
  bool saturated = false;
};

/// A request's part of a step with logged accesses.
struct AccessRowRow {
  std::int64_t step = 0;
  std::int32_t batch_row = 0;
  std::int32_t job = 0;
  std::int32_t turn = 0;
  AccessPhase phase = AccessPhase::prefill;
  std::int32_t context = 0;
  std::int32_t new_tok = 0;
  std::int64_t read_slots = 0;
};

/// A kernel launch with logged accesses.
struct AccessKernelRow {
  std::int64_t step = 0;
  std::int32_t layer = 0;
  AccessKernel kernel = AccessKernel::append;
  double t_start_s = kNotObserved;
  double t_end_s = kNotObserved;
};

/// A copy of a KV block between device and host.
struct KvCopyRow {
  CopyDirection direction = CopyDirection::to_host;
  HostMemoryClass memory = HostMemoryClass::pinned;
  std::int32_t block = 0;
  std::int64_t bytes = 0;
  double t_issue_s = kNotObserved;
  double t_start_s = kNotObserved;
  double t_end_s = kNotObserved;
};

/// A sample of the GPU's state (NVML), one per second while a cell runs, or of a server's metrics,
/// five per second.
struct TelemetryRow {
  double t_s = 0;
  double gpu_util_pct = kNotObserved;
  double mem_util_pct = kNotObserved;
  double sm_clock_mhz = kNotObserved;
  double mem_clock_mhz = kNotObserved;
  double power_w = kNotObserved;
  double temp_c = kNotObserved;
  std::int64_t throttle_reasons = 0;
  std::int64_t mem_used_bytes = 0;
  double kv_used_pct = kNotObserved;
  double n_running = kNotObserved;
  double n_waiting = kNotObserved;
  double preemptions = kNotObserved;
  double cached_tok = kNotObserved;
  double host_cached_tok = kNotObserved;
};

std::span<const std::string_view> enum_names(bool);

template <class Enum>
std::string_view to_text(Enum value) requires std::is_enum_v<Enum> {
  return enum_names(value)[static_cast<std::size_t>(value)];
}

/// One column of a row type.
template <class Row>
struct Field {
  std::string_view name, unit, long_name;
  bool is_volatile;
  std::span<const std::string_view>
      enum_names;  // empty unless the member is an enumeration or a bool
  ColumnData (*empty)();
  void (*append)(std::span<const Row> rows, ColumnData& to);
};

/// The table with rows of this type: its name and its columns in order.
template <class Row>
struct Schema {
  std::string_view name;
  std::span<const Field<Row>> fields;
};

/// Defined for the row types above.
template <class Row>
Schema<Row> schema();

/// Appends rows to a table that has the columns of their type.
template <class Row>
void append_rows(std::span<const Row> rows, Table& table) {
  const auto fields = schema<Row>().fields;
  for (std::size_t i = 0; i < fields.size(); ++i) fields[i].append(rows, table.columns[i].data);
}

/// Converts rows to columns. Without rows the table has every column, empty.
template <class Row>
Table to_table(std::span<const Row> rows) {
  const auto [name, fields] = schema<Row>();
  Table table{std::string(name), {}};
  for (const Field<Row>& field : fields) {
    table.columns.push_back({std::string(field.name),
                             std::string(field.unit),
                             std::string(field.long_name),
                             field.is_volatile,
                             {field.enum_names.begin(), field.enum_names.end()},
                             field.empty()});
  }
  append_rows(rows, table);
  return table;
}

}  // namespace sweep
