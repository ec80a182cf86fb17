#include "workers/backends/cuda/device/profiler_range.hpp"

#include <nvtx3/nvToolsExt.h>

#include <array>
#include <cstddef>

namespace backends {
namespace {

constexpr std::array kNames = {"cell", "step", "schedule", "launch", "layer", "save", "restore"};

/// The domain, with names registered once: a range then carries a pointer instead of text.
struct Domain {
  Domain() {
    for (std::size_t i = 0; i < kNames.size(); ++i)
      names[i] = nvtxDomainRegisterStringA(handle, kNames[i]);
  }
  nvtxDomainHandle_t handle = nvtxDomainCreateA("kvsweep");
  std::array<nvtxStringHandle_t, kNames.size()> names{};
};

const Domain& domain() {
  static const Domain made;
  return made;
}

}  // namespace

// Ranges of the process instead of nested ranges of a thread: a range that an exception cuts short
// does not end another one.
ProfilerRange::ProfilerRange(ProfilerName name, std::uint64_t number) {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = domain().names[static_cast<std::size_t>(name)];
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  event.payload.ullValue = number;
  id_ = nvtxDomainRangeStartEx(domain().handle, &event);
}

ProfilerRange::~ProfilerRange() { nvtxDomainRangeEnd(domain().handle, id_); }

}  // namespace backends
