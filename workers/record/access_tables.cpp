#include "workers/record/access_tables.hpp"

#include <algorithm>
#include <iterator>
#include <variant>

#include "workers/record/growing_table.hpp"

namespace worker {
namespace {

using backends::AccessLog;
using backends::ClockTie;
using engine::to_seconds;

sweep::KvAccessKind recorded(kernels::AccessKind kind) {
  return static_cast<sweep::KvAccessKind>(kind);
}
static_assert(static_cast<int>(sweep::KvAccessKind::write_value) ==
              static_cast<int>(kernels::AccessKind::write_value));
sweep::AccessKernel recorded(kernels::AccessKernel kernel) {
  return static_cast<sweep::AccessKernel>(kernel);
}
static_assert(static_cast<int>(sweep::AccessKernel::decode_attention) ==
              static_cast<int>(kernels::AccessKernel::decode_attention));

sweep::KvAccessRow row_of(const backends::Access& access, const ClockTie& tie) {
  sweep::KvAccessRow row;
  row.step = access.step;
  row.layer = access.layer;
  row.kind = recorded(access.kind);
  row.block = static_cast<std::int32_t>(access.block);
  row.first_slot = access.first_slot;
  row.n_slots = access.n_slots;
  row.batch_row = access.row;
  row.kv_head = access.kv_head;
  row.warp = access.warp;
  row.sm = access.sm;
  row.t_s = to_seconds(tie.to_host(access.time));
  row.dur_s = access.duration_ns * 1e-9;
  row.saturated = access.saturated;
  return row;
}

sweep::Table access_table(const AccessLog& log) {
  GrowingTable<sweep::KvAccessRow> table;  // there are 20 million rows
  for (const backends::Access& access : log.accesses()) table.add(row_of(access, log.tie()));
  return std::move(table).take();
}

sweep::Table row_table(const AccessLog& log) {
  std::vector<sweep::AccessRowRow> rows;
  for (const backends::LoggedRow& row : log.rows())
    rows.push_back({static_cast<std::int64_t>(row.step), row.row, row.job, row.turn,
                    row.decode ? sweep::AccessPhase::decode : sweep::AccessPhase::prefill,
                    row.context, row.new_tokens, row.read_slots});
  return sweep::to_table<sweep::AccessRowRow>(rows);
}

sweep::Table kernel_table(const AccessLog& log) {
  std::vector<sweep::AccessKernelRow> rows;
  for (const backends::KernelRun& run : log.runs())
    rows.push_back({static_cast<std::int64_t>(run.step), run.layer, recorded(run.kernel),
                    to_seconds(log.tie().to_host(run.begin)),
                    to_seconds(log.tie().to_host(run.end))});
  return sweep::to_table<sweep::AccessKernelRow>(rows);
}

std::string summary(const AccessLog& log) {
  return log.stopped_at() ? "stopped before step " + std::to_string(*log.stopped_at()) +
                                " by record.access_max_records"
                          : "holds every step asked for";
}

}  // namespace

void add_access_log(sweep::CellResult& result, backends::AccessLogger& logger) {
  const AccessLog& log = logger.finish();
  result.kv_access = access_table(log);
  result.access_rows = row_table(log);
  result.access_kernels = kernel_table(log);
  const auto saturated = std::ranges::count_if(
      log.accesses(), [](const backends::Access& access) { return access.saturated; });
  result.notes.push_back({"access_log", summary(log)});
  const double stopped =
      log.stopped_at() ? static_cast<double>(*log.stopped_at()) : sweep::kNotObserved;
  result.figures.push_back({"access_records", static_cast<double>(log.accesses().size()), ""});
  result.figures.push_back({"access_stopped_step", stopped, ""});
  result.figures.push_back({"access_saturated", static_cast<double>(saturated), "", true});
  result.figures.push_back({"access_waits", static_cast<double>(logger.waits()), "", true});
  result.figures.push_back({"access_wait_s", to_seconds(logger.waited()), "s", true});
  result.figures.push_back(
      {"access_clock_residual_s", to_seconds(log.tie().residual()), "s", true});
}

}  // namespace worker
