#include "tests/cpu/content_ledger.hpp"

#include <algorithm>
#include <string>

#include "kernels/reference/kv_blocks.hpp"
#include "workers/backends/errors.hpp"

namespace cpu_test {
namespace {

using backends::CorruptBlock;

std::string place(std::uint64_t step, const engine::Request& request, const char* verb) {
  return "step " + std::to_string(step) + ", " + verb + " by request " +
         std::to_string(index(request.id));
}

/// Number of the request's blocks with a known hash.
int hashed_blocks(const engine::Request& request) {
  return static_cast<int>(request.block_hashes().size());
}

engine::BlockId block_at(const engine::Request& request, int block) {
  return request.blocks[static_cast<std::size_t>(block)];
}

}  // namespace

void ContentLedger::before_step(const engine::StepPlan& plan) {
  on_tokens_known();
  find_filling(plan);
  for (const engine::ScheduledRequest& share : plan.scheduled) {
    const int full =
        std::min(share.computed_before / arena_.layout().block_size, hashed_blocks(*share.request));
    for (int i = 0; i < full; ++i)
      if (!filling_.contains(block_at(*share.request, i))) verify(plan.step, *share.request, i);
  }
}

void ContentLedger::after_step(const engine::StepPlan& plan) {
  const int size = arena_.layout().block_size;
  for (const engine::ScheduledRequest& share : plan.scheduled) {
    const engine::Request& request = *share.request;
    const int filled = (share.computed_before + share.num_tokens) / size;
    const int named = std::min(filled, hashed_blocks(request));
    for (int i = share.computed_before / size; i < named; ++i)
      record(plan.step, request, i, checksum(block_at(request, i)));
    // Their tokens are in flight.
    for (int i = std::max(named, share.computed_before / size); i < filled; ++i)
      unnamed_.push_back({&request, plan.step, i, checksum(block_at(request, i))});
  }
}

void ContentLedger::on_tokens_known() {
  std::erase_if(unnamed_, [&](const Unnamed& each) {
    if (each.block >= hashed_blocks(*each.request)) return each.request->ended();
    record(each.step, *each.request, each.block, each.checksum);
    return true;
  });
}

/// Finds the blocks that the step fills. Another request of the same step may have hit them, so
/// they cannot be verified before the step.
void ContentLedger::find_filling(const engine::StepPlan& plan) {
  const int size = arena_.layout().block_size;
  filling_.clear();
  for (const engine::ScheduledRequest& share : plan.scheduled)
    for (int i = share.computed_before / size;
         i < (share.computed_before + share.num_tokens) / size; ++i)
      filling_.insert(block_at(*share.request, i));
}

std::uint64_t ContentLedger::checksum(engine::BlockId block) {
  const auto bytes = arena_.block(index(block));
  return kernels::reference::checksum_block(bytes.data(), arena_.block_bytes());
}

void ContentLedger::verify(std::uint64_t step, const engine::Request& request, int block) {
  const engine::BlockId id = block_at(request, block);
  const std::uint64_t found = checksum(id);
  const auto noted = checksums_.find(request.block_hash(block));
  if (noted == checksums_.end())
    throw CorruptBlock(id, place(step, request, "read although never filled,"), 0, found);
  if (noted->second != found)
    throw CorruptBlock(id, place(step, request, "read"), noted->second, found);
}

void ContentLedger::record(std::uint64_t step, const engine::Request& request, int block,
                           std::uint64_t found) {
  const auto [noted, fresh] = checksums_.emplace(request.block_hash(block), found);
  if (fresh || noted->second == found) return;
  const bool holds = block < static_cast<int>(request.blocks.size());
  throw CorruptBlock(holds ? block_at(request, block) : engine::BlockId{0},
                     place(step, request, "filled"), noted->second, found);
}

}  // namespace cpu_test
