#include "workers/backends/cuda/device/profiler_range.hpp"

namespace backends {

ProfilerRange::ProfilerRange(ProfilerName, std::uint64_t) : id_(0) {}
ProfilerRange::~ProfilerRange() = default;

}  // namespace backends
