#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace backends {

/// Identifies a group of ranks. One rank makes it; the caller distributes it to the others.
using NcclId = std::array<std::byte, 128>;

/// The devices of a broadcast: one per rank. Rank 0 has the data.
struct NcclGroup {
  NcclId id{};
  int rank = 0;
  int size = 1;
};

struct BroadcastReport {
  std::int64_t bytes = 0;
  double connect_seconds = 0;  // creating the communicator, and a first small broadcast
  double seconds = 0;          // the broadcast itself
  double gb_s() const { return seconds > 0 ? static_cast<double>(bytes) / seconds * 1e-9 : 0; }
};

/// Version of the loaded library ("2.28.9"); empty when the program was built without NCCL.
std::string nccl_version();

/// Throws DeviceError, as does nccl_broadcast(), when the program was built without NCCL.
NcclId make_nccl_id();

/// Broadcasts rank 0's `bytes` bytes at `data` (memory of the current device) to all ranks of the
/// group. The communicator and its device memory are freed when this returns. Called by all ranks,
/// each in its own process or thread. A program run with NCCL_NVLS_ENABLE=0 does not use multicast
/// over NVLink; a broadcast does not gain from it.
BroadcastReport nccl_broadcast(const NcclGroup& group, void* data, std::int64_t bytes);

}  // namespace backends
