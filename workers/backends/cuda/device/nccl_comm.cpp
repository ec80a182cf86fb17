#include "workers/backends/cuda/device/nccl_comm.hpp"

#include <nccl.h>

#include <algorithm>
#include <cstring>

#include "workers/backends/cuda/device/handles.hpp"
#include "workers/engine/base/clock.hpp"

namespace backends {
namespace {

using cuda::check;

static_assert(sizeof(ncclUniqueId) == sizeof(NcclId), "an id travels as it is");

/// Large enough to reach the full rate, small enough for short waits.
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 30;

void check_nccl(ncclResult_t status, const char* what) {
  if (status == ncclSuccess) return;
  check(cudaPeekAtLastError(), what);
  throw DeviceError(std::string("NCCL, ") + what + ": " + ncclGetErrorString(status) + "; " +
                    ncclGetLastError(nullptr));
}

class Communicator : public cuda::Handle<ncclComm_t, ncclCommDestroy> {
 public:
  explicit Communicator(const NcclGroup& group) {
    ncclUniqueId id;
    std::memcpy(&id, group.id.data(), sizeof id);
    check_nccl(ncclCommInitRank(&raw_, group.size, id, group.rank), "joining the group");
  }

  void broadcast(std::byte* data, std::int64_t bytes, const cuda::Stream& stream) {
    check_nccl(
        ncclBroadcast(data, data, static_cast<std::size_t>(bytes), ncclChar, 0, raw_, stream.get()),
        "broadcasting");
  }
};

}  // namespace

std::string nccl_version() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return "unknown";
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

NcclId make_nccl_id() {
  ncclUniqueId raw;
  check_nccl(ncclGetUniqueId(&raw), "making an id");
  NcclId id;
  std::memcpy(id.data(), &raw, sizeof raw);
  return id;
}

BroadcastReport nccl_broadcast(const NcclGroup& group, void* data, std::int64_t bytes) {
  const engine::WallClock clock;
  const cuda::Stream stream;
  Communicator communicator(group);
  auto* const from = static_cast<std::byte*>(data);
  // The first collective sets up the connections: a small one keeps that time out of the rate.
  communicator.broadcast(from, std::min<std::int64_t>(bytes, 1 << 20), stream);
  stream.synchronize();
  BroadcastReport report{.bytes = bytes};
  const engine::Nanos connected = clock.now();
  for (std::int64_t at = 0; at < bytes; at += kPieceBytes)
    communicator.broadcast(from + at, std::min(kPieceBytes, bytes - at), stream);
  stream.synchronize();
  report.connect_seconds = engine::to_seconds(connected);
  report.seconds = engine::to_seconds(clock.now() - connected);
  return report;
}

}  // namespace backends
