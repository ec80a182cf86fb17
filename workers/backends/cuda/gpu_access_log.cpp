#include "workers/backends/cuda/gpu_access_log.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "workers/engine/base/clock.hpp"

namespace backends::cuda {
namespace {

namespace gpu = kernels::gpu;

AccessPattern pattern_of(const gpu::HeadShape& heads, const kernels::KvLayout& layout,
                         bool prompts_unread) {
  return {.block_size = layout.block_size,
          .kv_heads = layout.kv_heads,
          .decode_tile = gpu::kDecodeReadTile,
          .prefill_tile = gpu::kPrefillReadTile,
          .query_tile = gpu::prefill_tile_tokens(heads),
          .prompts_unread = prompts_unread};
}

std::vector<AccessSegment> segments_of(const std::vector<std::byte>& packed) {
  std::vector<AccessSegment> segments;
  for (std::size_t at = 0; at < packed.size();) {
    const auto* header = reinterpret_cast<const kernels::SegmentHeader*>(packed.data() + at);
    segments.push_back({header, reinterpret_cast<const kernels::AccessRecord*>(header + 1)});
    at += sizeof *header + header->count * sizeof(kernels::AccessRecord);
  }
  return segments;
}

constexpr std::size_t kPlanBytes = (sizeof(gpu::AccessPlan) + 15) / 16 * 16;
constexpr std::size_t kMostRows = kernels::kMostLoggedRows;

}  // namespace

GpuAccessLog::GpuAccessLog(int device, const AccessLogOptions& options, const gpu::HeadShape& heads,
                           const kernels::KvLayout& layout, int num_blocks, bool prompts_unread,
                           const LargestStep& largest)
    : device_(device),
      heads_(heads),
      log_(options, pattern_of(heads, layout, prompts_unread), layout.layers, num_blocks),
      layers_(static_cast<std::size_t>(layout.layers)),
      plan_(kPlanBytes + kMostRows),
      plan_source_(kPlanBytes + kMostRows),
      exchange_(sizeof(gpu::ClockExchange)) {
  const auto* plan = plan_.as<gpu::AccessPlan>();
  std::int32_t slot = 0;
  for (const int layer : log_.parts().layers)
    layers_[static_cast<std::size_t>(layer)] = gpu::AccessLog{plan, slot++};
  const auto layer_bytes =
      static_cast<std::size_t>(gpu::lay_out_segments(largest_work(largest)).layer_bytes);
  std::array<Buffer, BufferRing<Buffer>::kBuffers> buffers;
  for (Buffer& buffer : buffers)
    make_room(buffer, std::min(kMostReserved, layer_bytes * log_.parts().layers.size()));
  backlog_.emplace([this](Packed& step) { log_.add(step.expected, segments_of(step.segments)); });
  ring_.emplace(std::move(buffers), [this](Buffer& buffer) { empty(buffer); });
}

GpuAccessLog::~GpuAccessLog() = default;

const gpu::AccessLog* GpuAccessLog::of_layer(int layer) const {
  const auto& log = layers_[static_cast<std::size_t>(layer)];
  return log ? &*log : nullptr;
}

/// The device waits for this, so it only prepares what the kernels need.
bool GpuAccessLog::begin_step(const engine::StepPlan& plan, const Stream& stream) {
  constexpr engine::Nanos kSecond{1'000'000'000};
  if (cell_ && cell_->now() - log_.tie().last_host() > kSecond) tie_clocks();
  if (!log_.admit(plan)) return false;
  buffer_ = &ring_->take();
  lay_out(*buffer_, plan);
  upload_plan(*buffer_, plan, stream);
  return true;
}

gpu::LoggedWork GpuAccessLog::work_of_tokens(int tokens) const {
  gpu::LoggedWork work;
  work.tokens = tokens;
  work.append_warps = gpu::append_kv_warps(heads_);
  work.append_records = gpu::append_kv_records(heads_);
  work.block_size = log_.pattern().block_size;
  work.kv_heads = heads_.kv_heads;
  return work;
}

gpu::LoggedWork GpuAccessLog::work_of(const engine::StepPlan& plan) const {
  gpu::LoggedWork work = work_of_tokens(plan.total_tokens);
  for (const engine::ScheduledRequest& share : plan.scheduled) {
    for_each_tile(share, log_.pattern(), [&](int keys) {
      if (share.decode) {
        const int length = gpu::decode_split_length(keys);
        work.decode_splits += (keys + length - 1) / length;
        work.decode_length = std::max(work.decode_length, std::min(length, keys));
      } else {
        ++work.prefill_tiles;
        work.prefill_keys = std::max(work.prefill_keys, keys);
      }
    });
  }
  return work;
}

/// An upper bound, which no step reaches: every sequence decodes at its longest, beside a full
/// token budget of prompts at the longest context.
gpu::LoggedWork GpuAccessLog::largest_work(const LargestStep& largest) const {
  gpu::LoggedWork work = work_of_tokens(largest.tokens);
  const int length = gpu::decode_split_length(largest.context);
  // A shorter context may have as many splits.
  const int splits = std::min(gpu::kDecodeMaxSplits, (largest.context + length - 1) / length + 1);
  work.decode_splits = largest.sequences * splits;
  work.decode_length = std::min(length, largest.context);
  work.prefill_tiles =
      std::min(largest.tokens, largest.tokens / log_.pattern().query_tile + largest.sequences + 1);
  work.prefill_keys = largest.context;
  return work;
}

void GpuAccessLog::make_room(Buffer& buffer, std::size_t bytes) {
  buffer.device = DeviceBuffer();
  buffer.host = PinnedBuffer();
  buffer.device = DeviceBuffer(bytes);
  buffer.host = PinnedBuffer(bytes);
}

void GpuAccessLog::lay_out(Buffer& buffer, const engine::StepPlan& plan) {
  buffer.plan = gpu::lay_out_segments(work_of(plan));
  const auto bytes = static_cast<std::size_t>(buffer.plan.layer_bytes) * log_.parts().layers.size();
  if (buffer.device.bytes() < bytes) {
    const engine::WallClock clock;
    make_room(buffer, bytes);
    ++growths_;
    grown_for_ += clock.now();
  }
  buffer.plan.segments = reinterpret_cast<unsigned char*>(buffer.device.data());
  buffer.plan.prefilled = reinterpret_cast<const std::uint8_t*>(plan_.data() + kPlanBytes);
  for (const int head : log_.parts().heads)
    buffer.plan.heads[head / 32] |= 1u << static_cast<unsigned>(head % 32);
  buffer.plan.step = static_cast<std::uint16_t>(plan.step);
}

/// The previous step has ended, so neither the device nor an earlier copy still reads the old plan.
void GpuAccessLog::upload_plan(const Buffer& buffer, const engine::StepPlan& plan,
                               const Stream& stream) {
  std::memcpy(plan_source_.data(), &buffer.plan, sizeof buffer.plan);
  std::byte* row = plan_source_.data() + kPlanBytes;
  for (const engine::ScheduledRequest& share : plan.scheduled)
    *row++ = share.decode ? std::byte{0} : std::byte{1};
  check(cudaMemcpyAsync(plan_.data(), plan_source_.data(), kPlanBytes + plan.scheduled.size(),
                        cudaMemcpyHostToDevice, stream.get()),
        "copying the plan of an access log");
}

void GpuAccessLog::end_step(const engine::StepPlan& plan, const Event& end) {
  buffer_->expected = expect_accesses(plan, log_.pattern());
  order_after(flush_, end);
  const auto bytes =
      static_cast<std::size_t>(buffer_->plan.layer_bytes) * log_.parts().layers.size();
  check(cudaMemcpyAsync(buffer_->host.data(), buffer_->device.data(), bytes, cudaMemcpyDeviceToHost,
                        flush_.get()),
        "copying an access log");
  buffer_->ready.record(flush_);
  ring_->pass_on(*buffer_);
  buffer_ = nullptr;
}

void GpuAccessLog::empty(Buffer& buffer) {
  check(cudaSetDevice(device_), "choosing the device");
  buffer.ready.synchronize();
  std::vector<std::byte> segments = packed(buffer);
  backlog_->add({std::move(buffer.expected), std::move(segments)});
}

std::vector<std::byte> GpuAccessLog::packed(const Buffer& buffer) const {
  std::vector<std::byte> all;
  all.reserve(static_cast<std::size_t>(buffer.plan.layer_bytes) * log_.parts().layers.size());
  const std::byte* layer = buffer.host.data();
  for (std::size_t i = 0; i < log_.parts().layers.size(); ++i, layer += buffer.plan.layer_bytes) {
    for (const gpu::SegmentArray& array : buffer.plan.arrays) {
      for (std::int64_t n = 0; n < array.count; ++n) {
        const std::byte* at = layer + array.start + n * array.segment_bytes();
        const std::uint32_t count = reinterpret_cast<const kernels::SegmentHeader*>(at)->count;
        if (count > static_cast<std::uint32_t>(array.capacity))
          throw AccessMismatch("access log of step " + std::to_string(buffer.expected.step) +
                               ": a segment with room for " + std::to_string(array.capacity) +
                               " records counts " + std::to_string(count));
        all.insert(all.end(), at,
                   at + sizeof(kernels::SegmentHeader) + count * sizeof(kernels::AccessRecord));
      }
    }
  }
  return all;
}

void GpuAccessLog::use_clock(const engine::Clock& cell) {
  cell_ = &cell;
  tie_clocks();
}

/// Called between steps, when the device is idle. Uses the shortest of several exchanges and
/// assigns the device's time to its middle. The error is at most half of its duration.
void GpuAccessLog::tie_clocks() {
  constexpr engine::Nanos kPatience{500'000'000};
  check(cudaSetDevice(device_), "choosing the device");
  auto* const exchange = new (exchange_.data()) gpu::ClockExchange;
  gpu::read_clock(exchange, clock_stream_.get());
  engine::Nanos best{0}, middle{0};
  std::uint64_t device_time = 0;
  for (int round = 0; round < gpu::ClockExchange::kRounds; ++round) {
    const engine::Nanos asked = cell_->now();
    exchange->asked = round + 1;
    while (exchange->answered <= round && cell_->now() - asked < kPatience) continue;
    const engine::Nanos took = cell_->now() - asked;
    if (exchange->answered <= round) break;                // the error is reported below
    if (round > 0 && (device_time == 0 || took < best)) {  // the first one includes the launch
      best = took;
      middle = asked + took / 2;
      device_time = exchange->times[round];
    }
  }
  clock_stream_.synchronize();
  if (device_time == 0) throw DeviceError("the device's clock does not answer");
  log_.tie().add(device_time, middle);
}

const AccessLog& GpuAccessLog::finish() {
  ring_->finish();
  backlog_->finish();
  if (cell_) tie_clocks();
  return log_;
}

}  // namespace backends::cuda
