#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace backends {

/// Names a group of ranks. Made by one of them; the caller carries it to the others.
using NcclId = std::array<std::byte, 128>;

/// The devices that take part in a broadcast: one a rank; rank 0 has the data.
struct NcclGroup {
  NcclId id{};
  int rank = 0;
  int size = 1;
};

struct BroadcastReport {
  std::int64_t bytes = 0;
  double connect_seconds = 0;  // making the communicator, and the first small broadcast
  double seconds = 0;          // moving the bytes
  double gb_s() const { return seconds > 0 ? static_cast<double>(bytes) / seconds * 1e-9 : 0; }
};

/// "2.28.9" of the library that is loaded; empty when the program was built without NCCL.
std::string nccl_version();

/// Throws DeviceError, as does nccl_broadcast(), when the program was built without NCCL.
NcclId make_nccl_id();

/// Brings rank 0's `bytes` bytes at `data` (memory of the current device) to all ranks of the
/// group. The communicator and its device memory are gone when this returns. Called by all ranks,
/// each in a process of its own or a thread of its own. Multicast over NVLink is not used when the
/// program runs with NCCL_NVLS_ENABLE=0, and a broadcast does not gain from it.
BroadcastReport nccl_broadcast(const NcclGroup& group, void* data, std::int64_t bytes);

}  // namespace backends
