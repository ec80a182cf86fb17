#pragma once
#include <cstdint>

namespace engine {

/// Index of a KV block in the device pool. Block 0 is the null block: never allocated, never
/// cached.
enum class BlockId : std::uint32_t {};
/// Number of what a full block of a sequence holds, its tokens and all before them; from 1.
enum class ContentId : std::uint32_t { none = 0 };
/// Index of a block-sized slot in the host tier, from 0.
enum class HostSlot : std::uint32_t {};
/// Index of a job (one agent trajectory) in its workload.
enum class JobId : std::uint32_t {};
/// Index of a request (one turn of a job) in order of submission to the engine.
enum class RequestId : std::uint32_t {};
/// Position of a tool's name in the workload's tool list.
enum class ToolId : std::int32_t { none = -1 };

using TokenId = std::uint32_t;

/// A turn, identified by its job and its index in the job.
struct TurnRef {
  JobId job{};
  int turn = 0;
  friend bool operator==(const TurnRef&, const TurnRef&) = default;
};

template <class Id>
constexpr auto index(Id id) noexcept {
  return static_cast<std::uint32_t>(id);
}

}  // namespace engine
