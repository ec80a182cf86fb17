#include "workers/backends/step_checks.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "workers/engine/base/errors.hpp"

namespace backends {
namespace {

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
