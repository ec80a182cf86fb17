#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

#include "workers/engine/base/ids.hpp"

namespace backends {

/// A block does not hold the KV that it should. Detected by checksums in debug mode.
struct CorruptBlock : std::runtime_error {
  /// `where`: "step 12, read by request 3" or "load 4 from host slot 7".
  CorruptBlock(engine::BlockId block, const std::string& where, std::uint64_t expected_checksum,
               std::uint64_t found_checksum);
};

/// A copy was reported done without a check of its bytes. Detected in debug mode.
struct UncheckedCopy : std::runtime_error {
  UncheckedCopy(engine::BlockId block, const std::string& where);  // as in CorruptBlock
};

/// The forward pass computed a value that is not finite. Detected in debug mode.
struct NotFinite : std::runtime_error {
  /// `layer`: the first with an output that is not finite; or kEmbedding, kHead, kUnknown.
  /// `request` and `position` are those of the token.
  NotFinite(std::uint64_t step, int layer, engine::RequestId request, int position);

  static constexpr int kUnknown = -2;
  static constexpr int kEmbedding = -1;
  static constexpr int kHead = 1 << 30;
};

}  // namespace backends
