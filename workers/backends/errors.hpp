#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

#include "workers/engine/base/ids.hpp"

namespace backends {

/// A block does not hold the KV that it should. Detected by checksums in debug mode.
struct CorruptBlock : std::runtime_error {
  /// `where`: "step 12, read by request 3" or "load 4 from host slot 7".
  CorruptBlock(engine::BlockId block_, const std::string& where, std::uint64_t expected_,
               std::uint64_t found_);
  engine::BlockId block;
  std::uint64_t expected;  // checksums
  std::uint64_t found;
};

/// A copy was reported done without a check of its bytes. Detected in debug mode.
struct UncheckedCopy : std::runtime_error {
  UncheckedCopy(engine::BlockId block_, const std::string& where);  // as in CorruptBlock
  engine::BlockId block;
};

/// The forward pass computed a value that is not finite. Detected in debug mode.
struct NotFinite : std::runtime_error {
  NotFinite(std::uint64_t step_, int layer_, engine::RequestId request_, int position_);
  std::uint64_t step;
  int layer;  // the first layer with an output that is not finite; or kEmbedding, kHead, kUnknown
  engine::RequestId request;  // request of the token
  int position;               // position of the token

  static constexpr int kUnknown = -2;
  static constexpr int kEmbedding = -1;
  static constexpr int kHead = 1 << 30;
};

}  // namespace backends
