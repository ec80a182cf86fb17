#include "workers/backends/cpu/cpu_access_log.hpp"

namespace backends {
namespace {

std::vector<bool> chosen_heads(const AccessLog& log) {
  std::vector<bool> heads(static_cast<std::size_t>(log.pattern().kv_heads), false);
  for (const int head : log.parts().heads) heads[static_cast<std::size_t>(head)] = true;
  return heads;
}

}  // namespace

CpuAccessLog::CpuAccessLog(const AccessLogOptions& options, const AccessPattern& pattern,
                           int layers, int num_blocks)
    : log_(options, pattern, layers, num_blocks),
      trace_([this] { return time(); }, chosen_heads(log_)),
      ring_({}, [this](Buffer& buffer) { empty(buffer); }) {}

kernels::reference::AccessTrace* CpuAccessLog::begin_step(const engine::StepPlan& plan) {
  constexpr engine::Nanos kSecond{1'000'000'000};
  if (cell_ && cell_->now() - log_.tie().last_host() > kSecond) tie_clocks();
  if (!log_.admit(plan)) return nullptr;
  ExpectedStep expected = expect_accesses(plan, log_.pattern());
  buffer_ = &ring_.take();
  buffer_->expected = std::move(expected);
  buffer_->segments.clear();
  buffer_->prefilled.clear();
  for (const AccessRow& row : buffer_->expected.rows) buffer_->prefilled.push_back(!row.decode);
  trace_.begin_step(plan.step, buffer_->segments, buffer_->prefilled);
  return &trace_;
}

void CpuAccessLog::end_step() {
  if (!buffer_) return;
  ring_.pass_on(*buffer_);
  buffer_ = nullptr;
}

void CpuAccessLog::empty(const Buffer& buffer) {
  segments_.clear();
  const kernels::AccessRecord* records = buffer.segments.records.data();
  for (const kernels::SegmentHeader& header : buffer.segments.headers) {
    segments_.push_back({&header, records});
    records += header.count;
  }
  log_.add(buffer.expected, segments_);
}

void CpuAccessLog::use_clock(const engine::Clock& cell) {
  cell_ = &cell;
  tie_clocks();
}

/// Ties the reading of one clock to the middle of two readings of the other around it.
void CpuAccessLog::tie_clocks() {
  const engine::Nanos before = cell_->now();
  const std::uint64_t own = time();
  log_.tie().add(own, before + (cell_->now() - before) / 2);
}

const AccessLog& CpuAccessLog::finish() {
  ring_.finish();
  if (cell_) tie_clocks();
  return log_;
}

}  // namespace backends
