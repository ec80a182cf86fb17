#pragma once
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "workers/backends/cpu/kv_arena.hpp"
#include "workers/backends/step_batch.hpp"
#include "workers/engine/block_hash.hpp"
#include "workers/engine/step.hpp"

namespace backends {

/// Checks that every block holds the KV of the tokens it stands for: by a checksum for each hash,
/// noted when the first block of that hash becomes full.
///
/// Equal hashes mean equal bits, because what a token computes depends on its prefix alone: so
/// prefix hits, blocks computed again and blocks that went to the host and back are all held
/// against the same checksum.
class ContentLedger {
 public:
  /// Poisons the whole arena: its memory may still hold KV of others.
  explicit ContentLedger(KvArena& arena);

  /// Verifies the full blocks that the step is going to read, then poisons those that it takes
  /// anew, so that what is read before it was written is NaN. Throws CorruptBlock.
  void before_step(const engine::StepPlan& plan, const StepBatch& batch);
  /// Notes the blocks that the step has filled, or holds them against what was noted before.
  /// Throws CorruptBlock.
  void after_step(const engine::StepPlan& plan);

 private:
  void poison(std::uint32_t block);
  void find_filling(const engine::StepPlan& plan);
  std::uint64_t checksum(engine::BlockId block);
  void verify(const engine::StepPlan& plan, const engine::Request& request, int block);
  void note(const engine::StepPlan& plan, const engine::Request& request, int block);

  struct HashOfHash {
    std::size_t operator()(const engine::BlockHash& hash) const { return hash.low; }
  };
  KvArena& arena_;
  std::unordered_set<engine::BlockId> filling_;  // blocks that the step makes full
  std::unordered_map<engine::BlockHash, std::uint64_t, HashOfHash> checksums_;
};

}  // namespace backends
