#pragma once
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "workers/backends/cpu/cpu_backend.hpp"
#include "workers/engine/base/block_hash.hpp"

namespace cpu_test {

/// Checks that every block holds the KV of its tokens, with one checksum per hash, recorded when
/// the first block of that hash becomes full.
///
/// Equal hashes imply equal bits, because a token's KV depends on its prefix alone. Prefix hits,
/// recomputed blocks and blocks restored from the host are therefore all compared with the same
/// checksum.
class ContentLedger {
 public:
  explicit ContentLedger(backends::KvArena& arena) : arena_(arena) {}

  /// Verifies the full blocks that the step reads. Throws CorruptBlock.
  void before_step(const engine::StepPlan& plan);
  /// Records the checksums of the blocks that the step has filled, or compares them with recorded
  /// ones. Throws CorruptBlock.
  void after_step(const engine::StepPlan& plan);
  /// With a step in flight: the tokens of the one before it are known. Records the checksums of
  /// blocks that the step filled with them, or compares them. Throws CorruptBlock.
  void on_tokens_known();

 private:
  void find_filling(const engine::StepPlan& plan);
  std::uint64_t checksum(engine::BlockId block);
  void verify(std::uint64_t step, const engine::Request& request, int block);
  void record(std::uint64_t step, const engine::Request& request, int block, std::uint64_t found);

  struct HashOfHash {
    std::size_t operator()(const engine::BlockHash& hash) const { return hash.low; }
  };
  backends::KvArena& arena_;
  std::unordered_set<engine::BlockId> filling_;  // blocks that the step fills
  std::unordered_map<engine::BlockHash, std::uint64_t, HashOfHash> checksums_;
  /// A block that a step filled before all its tokens, and so its hash, were known.
  struct Unnamed {
    const engine::Request* request;
    std::uint64_t step;
    int block;
    std::uint64_t checksum;
  };
  std::vector<Unnamed> unnamed_;
};

/// A CpuBackend with a ledger of its steps.
class CheckedBackend final : public engine::Backend {
 public:
  explicit CheckedBackend(backends::CpuBackend& backend)
      : backend_(backend), ledger_(backend.arena()) {}
  engine::StepResult execute(const engine::StepPlan& plan) override {
    ledger_.before_step(plan);
    const engine::StepResult result = backend_.execute(plan);
    ledger_.after_step(plan);
    return result;
  }
  engine::StepResult wait() override {
    ledger_.on_tokens_known();
    return Backend::wait();
  }

 private:
  backends::CpuBackend& backend_;
  ContentLedger ledger_;
};

}  // namespace cpu_test
