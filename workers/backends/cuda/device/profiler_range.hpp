#pragma once
#include <cstdint>

namespace backends {

/// Names of the ranges in the NVTX domain "kvsweep" (docs/results.md).
enum class ProfilerName : std::uint8_t { cell, step, schedule, launch, layer, save, restore };

/// A time range that an attached profiler records, with a number: the cell's index in the plan, the
/// step, the layer or the copy. Without a profiler it costs one pointer check; in a program without
/// the cuda backend it is empty.
class ProfilerRange {
 public:
  ProfilerRange(ProfilerName name, std::uint64_t number);
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  std::uint64_t id_;
};

}  // namespace backends
