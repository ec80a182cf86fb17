#pragma once
#include <cstdint>

namespace backends {

/// What the program shows to profilers in the NVTX domain "kvsweep" (docs/nsight.md).
enum class ProfilerName : std::uint8_t { cell, step, schedule, launch, layer, save, restore };

/// A range of time that an attached profiler records, with a number: the cell's place in the plan,
/// the step, the layer, the copy. Without a profiler it costs a look at a pointer; in a program
/// without the cuda backend it is nothing.
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
