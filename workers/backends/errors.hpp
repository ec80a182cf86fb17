#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

#include "workers/engine/ids.hpp"

namespace backends {

/// A block does not hold the KV that it should. Found by checksums, in debug mode.
struct CorruptBlock : std::runtime_error {
  /// `where`: "step 12, read by request 3" or "load 4 from host slot 7".
  CorruptBlock(engine::BlockId block_, const std::string& where, std::uint64_t expected_,
               std::uint64_t found_);
  engine::BlockId block;
  std::uint64_t expected;  // checksums
  std::uint64_t found;
};

/// A copy was reported done, and its bytes were not checked. Found in debug mode.
struct UncheckedCopy : std::runtime_error {
  UncheckedCopy(engine::BlockId block_, const std::string& where);  // as in CorruptBlock
  engine::BlockId block;
};

/// The forward pass left the range of finite numbers. Found in debug mode.
struct NotFinite : std::runtime_error {
  NotFinite(std::uint64_t step_, int layer_, engine::RequestId request_, int position_);
  std::uint64_t step;
  int layer;                  // the first one whose output is not finite; kEmbedding, kHead
  engine::RequestId request;  // whose token it is,
  int position;               // and its position

  static constexpr int kEmbedding = -1;
  static constexpr int kHead = 1 << 30;
};

}  // namespace backends
