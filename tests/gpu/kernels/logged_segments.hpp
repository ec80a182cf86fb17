#pragma once
#include <cstring>
#include <optional>
#include <vector>

#include "kernels/log/device_log.hpp"
#include "tests/gpu/kernels/device.hpp"

namespace gpu_test {

namespace gpu = kernels::gpu;

/// A step's access log for kernels launched by hand: all heads of one layer.
class LoggedSegments {
 public:
  static constexpr std::uint16_t kStep = 7;

  /// `prefilled` by row.
  LoggedSegments(const gpu::LoggedWork& work, const std::vector<std::uint8_t>& prefilled)
      : plan_(gpu::lay_out_segments(work)),
        prefilled_(prefilled),
        segments_(static_cast<std::size_t>(plan_.layer_bytes) + 16) {
    segments_.poison();
    plan_.segments = segments_.get();
    plan_.prefilled = prefilled_.get();
    for (std::uint32_t& word : plan_.heads) word = ~0u;
    plan_.step = kStep;
    plan_device_.emplace(std::vector<gpu::AccessPlan>{plan_});
  }
  gpu::AccessLog log() const { return {plan_device_->get(), 0}; }

  /// The kernel's log, each record with its segment's header. Checks the properties common to all
  /// segments.
  struct Logged {
    kernels::SegmentHeader header;
    kernels::AccessRecord record;
  };
  std::vector<Logged> of(kernels::AccessKernel kernel, int layer) const {
    const std::vector<unsigned char> bytes = segments_.host();
    const gpu::SegmentArray& array = plan_.arrays[static_cast<int>(kernel)];
    std::vector<Logged> all;
    for (std::int64_t i = 0; i < array.count; ++i) {
      Logged logged;
      const unsigned char* at = bytes.data() + array.start + i * array.segment_bytes();
      std::memcpy(&logged.header, at, sizeof logged.header);
      CHECK(logged.header.kernel == static_cast<std::uint8_t>(kernel));
      CHECK(logged.header.layer == layer);
      CHECK(logged.header.step == kStep);
      CHECK(logged.header.end_clock >= logged.header.begin_clock);
      CHECK(logged.header.end_time >= logged.header.begin_time);
      REQUIRE(logged.header.count <= static_cast<std::uint32_t>(array.capacity));
      for (std::uint32_t n = 0; n < logged.header.count; ++n) {
        std::memcpy(&logged.record, at + sizeof logged.header + n * sizeof logged.record,
                    sizeof logged.record);
        const std::uint64_t end =
            logged.record.ticks + std::uint64_t{logged.record.duration} * kernels::kDurationTicks;
        CHECK(end <= logged.header.end_clock - logged.header.begin_clock);
        all.push_back(logged);
      }
    }
    return all;
  }

 private:
  gpu::AccessPlan plan_;
  Device<std::uint8_t> prefilled_;
  Device<unsigned char> segments_;
  std::optional<Device<gpu::AccessPlan>> plan_device_;
};

}  // namespace gpu_test
