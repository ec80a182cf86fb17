#include "workers/backends/access_log.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "workers/engine/base/errors.hpp"

namespace backends {
namespace {

using kernels::AccessRecord;
using kernels::SegmentHeader;

std::vector<int> chosen(const IndexRanges& ranges, int count, const std::string& what) {
  if (ranges.last() >= count)
    throw engine::InputError("record.access_" + what + "s names " + what + ' ' +
                             std::to_string(ranges.last()) + ", the model has " +
                             std::to_string(count) + " (from 0)");
  return ranges.of(count);
}

void require_at_most(const std::string& what, std::int64_t found, std::int64_t most) {
  if (found > most)
    throw engine::InputError("record.access_log holds " + what + " up to " + std::to_string(most) +
                             ", found " + std::to_string(found));
}

/// Nanoseconds per tick on each multiprocessor, averaged over all of its work in the step. One
/// warp's share of a kernel may be shorter than the increments of the nanosecond clock.
class TickLengths {
 public:
  explicit TickLengths(std::span<const AccessSegment> segments) {
    for (const AccessSegment& segment : segments) {
      const SegmentHeader& header = *segment.header;
      const auto [entry, is_new] = spans_.try_emplace(header.sm, header);
      SegmentHeader& span = entry->second;
      if (header.begin_clock < span.begin_clock) {
        span.begin_clock = header.begin_clock;
        span.begin_time = header.begin_time;
      }
      if (header.end_clock > span.end_clock) {
        span.end_clock = header.end_clock;
        span.end_time = header.end_time;
      }
    }
  }
  double of(std::uint16_t sm) const {
    const SegmentHeader& span = spans_.at(sm);
    if (span.end_clock == span.begin_clock) return 0;
    return static_cast<double>(span.end_time - span.begin_time) /
           static_cast<double>(span.end_clock - span.begin_clock);
  }

 private:
  std::map<std::uint16_t, SegmentHeader> spans_;
};

Access access_of(const ExpectedStep& step, const SegmentHeader& header, const AccessRecord& record,
                 double tick_ns) {
  Access access = {};
  access.time =
      header.begin_time + static_cast<std::uint64_t>(std::llround(record.ticks * tick_ns));
  access.duration_ns = static_cast<std::uint32_t>(
      std::llround(record.duration * double{kernels::kDurationTicks} * tick_ns));
  access.block = block_of(record);
  access.step = static_cast<std::uint32_t>(step.step);
  access.row = record.row;
  access.layer = header.layer;
  access.sm = header.sm;
  access.warp = header.warp;
  access.kv_head = record.kv_head;
  access.first_slot = record.first_slot;
  access.n_slots = record.n_slots;
  access.kind = static_cast<kernels::AccessKind>(record.kind);
  access.saturated = (record.flags & kernels::kSaturatedAccess) != 0;
  return access;
}

}  // namespace

using engine::Nanos;

void ClockTie::add(std::uint64_t device_ns, Nanos host) {
  if (!ties_.empty() && device_ns <= ties_.back().device) return;  // no later than the last tie
  ties_.push_back({device_ns, host});
}

Nanos ClockTie::on_line(const Tie& a, const Tie& b, std::uint64_t device_ns) {
  // Differences fit into doubles; the times themselves do not.
  const auto passed = static_cast<double>(static_cast<std::int64_t>(device_ns - a.device));
  const double slope =
      static_cast<double>((b.host - a.host).count()) / static_cast<double>(b.device - a.device);
  return a.host + Nanos{std::llround(passed * slope)};
}

Nanos ClockTie::to_host(std::uint64_t device_ns) const {
  if (ties_.size() == 1)
    return ties_[0].host + Nanos{static_cast<std::int64_t>(device_ns - ties_[0].device)};
  auto next = std::ranges::upper_bound(ties_, device_ns, {}, &Tie::device);
  next = std::clamp(next, ties_.begin() + 1, ties_.end() - 1);
  return on_line(*(next - 1), *next, device_ns);
}

Nanos ClockTie::residual() const {
  Nanos worst{0};
  for (std::size_t i = 1; i + 1 < ties_.size(); ++i) {
    const Nanos distance = ties_[i].host - on_line(ties_[i - 1], ties_[i + 1], ties_[i].device);
    worst = std::max(worst, distance < Nanos{0} ? -distance : distance);
  }
  return worst;
}

AccessLog::AccessLog(AccessLogOptions options, const AccessPattern& pattern, int layers,
                     int num_blocks)
    : options_(std::move(options)),
      pattern_(pattern),
      parts_{chosen(options_.layers, layers, "layer"),
             chosen(options_.heads, pattern.kv_heads, "head")} {
  require_at_most("blocks of so many tokens", pattern.block_size, kernels::kMostLoggedSlots);
  require_at_most("pools of so many blocks", num_blocks, kernels::kMostLoggedBlocks);
  require_at_most("models of so many key heads", pattern.kv_heads, kernels::kMostLoggedHeads);
}

std::int64_t AccessLog::records_of(std::int64_t of_a_head) const {
  return of_a_head * static_cast<std::int64_t>(parts_.layers.size() * parts_.heads.size());
}

bool AccessLog::admit(const engine::StepPlan& plan) {
  if (stopped_at_ || !options_.steps.holds(static_cast<std::int64_t>(plan.step))) return false;
  require_at_most("steps of so many requests", static_cast<std::int64_t>(plan.scheduled.size()),
                  kernels::kMostLoggedRows);
  const AccessCount count = count_accesses(plan, pattern_);
  const std::int64_t records = records_of(count.reads + count.writes);
  if (promised_ + records > options_.max_records) {
    stopped_at_ = plan.step;
    return false;
  }
  promised_ += records;
  return true;
}

void AccessLog::add(const ExpectedStep& expected, std::span<const AccessSegment> segments) {
  if (options_.check) options_.check(expected, pattern_, parts_, segments);
  const std::size_t before = accesses_.size();
  add_accesses(expected, segments);
  const auto found = static_cast<std::int64_t>(accesses_.size() - before);
  const std::int64_t wanted = records_of(expected.reads + expected.writes);
  if (found != wanted)
    throw AccessMismatch("access log of step " + std::to_string(expected.step) + ": it holds " +
                         std::to_string(found) + " records, the schedule makes " +
                         std::to_string(wanted));
  add_rows(expected);
  add_runs(expected, segments);
}

void AccessLog::add_rows(const ExpectedStep& expected) {
  for (std::size_t i = 0; i < expected.rows.size(); ++i) {
    const AccessRow& row = expected.rows[i];
    rows_.push_back({expected.step, static_cast<std::int32_t>(i), row.job, row.turn, row.decode,
                     row.context, row.new_tokens, row.read_slots()});
  }
}

void AccessLog::add_runs(const ExpectedStep& expected, std::span<const AccessSegment> segments) {
  std::map<std::pair<int, kernels::AccessKernel>, KernelRun> runs;
  for (const AccessSegment& segment : segments) {
    const SegmentHeader& header = *segment.header;
    const auto kernel = static_cast<kernels::AccessKernel>(header.kernel);
    const KernelRun first = {expected.step, header.layer, kernel, header.begin_time,
                             header.end_time};
    KernelRun& run = runs.try_emplace({header.layer, kernel}, first).first->second;
    run.begin = std::min(run.begin, header.begin_time);
    run.end = std::max(run.end, header.end_time);
  }
  for (const auto& [key, run] : runs) runs_.push_back(run);
}

void AccessLog::add_accesses(const ExpectedStep& expected,
                             std::span<const AccessSegment> segments) {
  const TickLengths ticks(segments);
  const auto first = static_cast<std::ptrdiff_t>(accesses_.size());
  for (const AccessSegment& segment : segments) {
    const double tick_ns = ticks.of(segment.header->sm);
    for (std::uint32_t i = 0; i < segment.header->count; ++i)
      accesses_.push_back(access_of(expected, *segment.header, segment.records[i], tick_ns));
  }
  std::stable_sort(accesses_.begin() + first, accesses_.end(),
                   [](const Access& a, const Access& b) { return a.time < b.time; });
}

}  // namespace backends
