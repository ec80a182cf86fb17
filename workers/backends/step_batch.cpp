#include "workers/backends/step_batch.hpp"

#include <algorithm>

namespace backends {
namespace {

std::int32_t as_int(engine::BlockId block) { return static_cast<std::int32_t>(index(block)); }

/// Index in the block table of the first block without content: behind the prefix hits when
/// admitted.
std::size_t first_new_block(const engine::ScheduledRequest& share, int block_size) {
  const auto appended =
      share.request->blocks.size() - static_cast<std::size_t>(share.num_new_blocks);
  const auto filled =
      static_cast<std::size_t>((share.computed_before + block_size - 1) / block_size);
  return std::max(appended, filled);
}

}  // namespace

void StepBatch::fill(const engine::StepPlan& plan, int block_size,
                     const UnappliedTokens& unapplied) {
  for (auto* array : {&tokens, &positions, &sequence, &query_start, &context, &block_tables,
                      &logits_rows, &new_blocks})
    array->clear();
  table_stride = 0;
  for (const engine::ScheduledRequest& share : plan.scheduled) {
    const int blocks = (share.computed_before + share.num_tokens + block_size - 1) / block_size;
    table_stride = std::max(table_stride, blocks);
  }
  query_start.push_back(0);
  for (const engine::ScheduledRequest& share : plan.scheduled) {
    const engine::Request& request = *share.request;
    for (int i = 0; i < share.num_tokens; ++i) {
      const int position = share.computed_before + i;
      tokens.push_back(static_cast<std::int32_t>(unapplied.at(request, position)));
      positions.push_back(position);
      sequence.push_back(num_sequences());
    }
    context.push_back(share.computed_before + share.num_tokens);
    query_start.push_back(num_tokens());
    if (share.samples) logits_rows.push_back(num_tokens() - 1);
    const std::size_t row = block_tables.size();
    block_tables.resize(row + static_cast<std::size_t>(table_stride), 0);
    for (std::size_t i = 0; i < request.blocks.size() && i < static_cast<std::size_t>(table_stride);
         ++i)
      block_tables[row + i] = as_int(request.blocks[i]);
    for (std::size_t i = first_new_block(share, block_size); i < request.blocks.size(); ++i)
      new_blocks.push_back(as_int(request.blocks[i]));
  }
}

}  // namespace backends
