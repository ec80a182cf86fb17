#include "workers/backends/step_batch.hpp"

#include <algorithm>

#include "workers/engine/base/errors.hpp"

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

std::string alternatives(std::span<const int> values) {
  std::string text;
  for (const int value : values) text += (text.empty() ? "" : " or ") + std::to_string(value);
  return text;
}

void check_limit(const char* what, int found, int allowed) {
  if (found <= allowed) return;
  throw std::logic_error("a step has " + std::to_string(found) + ' ' + what + " and exceeds the " +
                         std::to_string(allowed) + " that the backend was made for");
}

[[noreturn]] void refuse(const model::ModelShape& shape, const char* what, int found, int allowed) {
  throw engine::InputError("model " + shape.name + " has no " + what + ' ' + std::to_string(found) +
                           "; allowed is 0 to " + std::to_string(allowed - 1));
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

std::string why_not(const KernelRange& range, int block_size, const model::ModelShape& shape) {
  const std::string backend = "the " + std::string(range.backend) + " backend";
  if (block_size < range.block_multiple || block_size > range.largest_block ||
      block_size % range.block_multiple != 0)
    return "engine.block_size must be a multiple of " + std::to_string(range.block_multiple) +
           " up to " + std::to_string(range.largest_block) + " on " + backend + ", found " +
           std::to_string(block_size);
  const auto& dims = range.head_dims;
  if (!dims.empty() && std::ranges::find(dims, shape.head_dim) == dims.end())
    return backend + " knows heads of " + alternatives(dims) + ", " + shape.name +
           " has heads of " + std::to_string(shape.head_dim);
  const auto& groups = range.groups;
  const bool divides = shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0;
  if (!divides ||
      (!groups.empty() && std::ranges::find(groups, shape.heads / shape.kv_heads) == groups.end()))
    return backend + " knows groups of " + (groups.empty() ? "whole" : alternatives(groups)) +
           " query heads, " + shape.name + " has " + std::to_string(shape.heads) + " heads over " +
           std::to_string(shape.kv_heads);
  return "";
}

void check_kernels(const KernelRange& range, int block_size, const model::ModelShape& shape) {
  const std::string problem = why_not(range, block_size, shape);
  if (!problem.empty()) throw engine::InputError(problem);
}

KernelRange cuda_kernels() {
  static constexpr int kHeadDims[] = {64, 128}, kGroups[] = {1, 2, 3, 4, 5, 6, 7, 8};
  return {.backend = "cuda",
          .block_multiple = 8,
          .largest_block = 1024,
          .head_dims = kHeadDims,
          .groups = kGroups};
}

void check_step(const StepBatch& batch, const model::ModelShape& shape, const StepLimits& limits) {
  check_limit("tokens", batch.num_tokens(), limits.tokens);
  check_limit("sequences", batch.num_sequences(), limits.sequences);
  for (const std::int32_t token : batch.tokens)
    if (token < 0 || token >= shape.vocab) refuse(shape, "token", token, shape.vocab);
  for (const std::int32_t context : batch.context)
    if (context > shape.max_context) refuse(shape, "position", context - 1, shape.max_context);
  check_limit("blocks in a sequence", batch.table_stride, limits.blocks_a_sequence);
}

}  // namespace backends
