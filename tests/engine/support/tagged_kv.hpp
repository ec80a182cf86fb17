#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "workers/engine/step/step.hpp"

namespace support {

/// A stand-in for the forward pass that checks the cache: every slot of every block holds a tag of
/// the whole prefix that its KV was computed for. A step writes its own positions, then reads all
/// of each request's, as attention does.
class TaggedKv {
 public:
  explicit TaggedKv(const engine::KvConfig& config);

  /// Throws std::logic_error when a request reads a slot that was not computed for its own prefix.
  void execute(const engine::StepPlan& plan);

  /// The tags of a block, for copiers.
  std::span<std::uint64_t> block(engine::BlockId block);
  /// Fills blocks of the request with the right tags, as a copy from elsewhere would.
  void fill(const engine::Request& request, int first_block, int num_blocks);

 private:
  std::uint64_t& slot(const engine::Request& request, int position);

  int block_size_;
  std::vector<std::uint64_t> slots_;
};

}  // namespace support
