#include "workers/backends/cuda/forward/step_arrays.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace backends::cuda {
namespace {

using kernels::gpu::HostRows;
using kernels::gpu::KvSource;
using kernels::gpu::PrefillPart;
using kernels::gpu::PrefillPlan;
using kernels::gpu::PrefillTile;

constexpr std::size_t kAlignment = 16;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::size_t StepUpload::bytes(const StepLimits& limits) {
  const auto t = static_cast<std::size_t>(limits.tokens);
  const auto s = static_cast<std::size_t>(limits.sequences);
  const auto width = static_cast<std::size_t>(limits.blocks_a_sequence);
  // Tokens, positions and sequences; starts, contexts, logits rows and decodes; tables and new
  // blocks; a tile has one token at least; parts of two plans.
  const std::size_t ints = 3 * t + 4 * s + 1 + 2 * s * width;
  const auto parts = 2 * static_cast<std::size_t>(
                             kernels::gpu::most_prefill_parts(kernels::gpu::prefill_sharers()));
  constexpr std::size_t kArrays = 13;
  return aligned(ints * sizeof(std::int32_t) + t * sizeof(PrefillTile) +
                 parts * sizeof(PrefillPart)) +
         kArrays * kAlignment;
}

StepUpload::StepUpload(const StepLimits& limits, const kernels::gpu::HeadShape& heads,
                       KvSource prompts_from)
    : limits_(limits),
      heads_(heads),
      prompts_from_(prompts_from),
      hosts_{PinnedBuffer(bytes(limits)), PinnedBuffer(bytes(limits))},
      device_(bytes(limits)) {}

template <class T>
const T* StepUpload::append(const std::vector<T>& values) {
  const std::size_t bytes = values.size() * sizeof(T);
  if (used_ + bytes > host().bytes())
    throw std::logic_error("a step of " + std::to_string(arrays_.num_tokens) + " tokens of " +
                           std::to_string(arrays_.num_sequences) +
                           " sequences exceeds the limits that the backend was made for");
  std::memcpy(host().data() + used_, values.data(), bytes);
  const auto* at = reinterpret_cast<const T*>(device_.data() + used_);
  used_ += aligned(bytes);
  return at;
}

PrefillArrays StepUpload::append(const PrefillPlan& plan) {
  return {static_cast<int>(plan.tiles.size()), static_cast<int>(plan.parts.size()),
          append(plan.tiles), append(plan.parts)};
}

/// Decoded tokens use the decode kernel. Rows of a prompt always use the prefill kernel, even in a
/// chunk of one token, so that results do not depend on the chunks.
void StepUpload::sort_sequences(const StepBatch& batch, const engine::StepPlan& plan) {
  decodes_.clear();
  chunks_.clear();
  prompts_.clear();
  for (std::size_t s = 0; s < plan.scheduled.size(); ++s) {
    const engine::ScheduledRequest& share = plan.scheduled[s];
    const bool whole = share.num_tokens == batch.context[s];
    auto& list = share.decode                                     ? decodes_
                 : whole && prompts_from_ == KvSource::contiguous ? prompts_
                                                                  : chunks_;
    list.push_back(static_cast<std::int32_t>(s));
  }
}

const StepArrays& StepUpload::upload(const StepBatch& batch, const engine::StepPlan& plan,
                                     const Stream& stream) {
  ++turn_;
  sort_sequences(batch, plan);
  const auto plan_of = [&](const std::vector<std::int32_t>& sequences) {
    return kernels::gpu::plan_prefill(heads_, batch.query_start, batch.context, sequences,
                                      kernels::gpu::prefill_sharers());
  };
  used_ = 0;
  arrays_ = {.num_tokens = batch.num_tokens(),
             .num_sequences = batch.num_sequences(),
             .num_logits_rows = static_cast<int>(batch.logits_rows.size()),
             .num_decodes = static_cast<int>(decodes_.size()),
             .num_new_blocks = static_cast<int>(batch.new_blocks.size()),
             .table_stride = batch.table_stride,
             .tokens = append(batch.tokens),
             .positions = append(batch.positions),
             .sequence = append(batch.sequence),
             .query_start = append(batch.query_start),
             .context = append(batch.context),
             .block_tables = append(batch.block_tables),
             .logits_rows = append(batch.logits_rows),
             .decode_rows = append(decodes_),
             .new_blocks = append(batch.new_blocks),
             .paged = append(plan_of(chunks_)),
             .contiguous = append(plan_of(prompts_))};
  const HostRows everything = part(device_.data(), used_ / sizeof(std::int32_t));
  kernels::gpu::fetch_host_rows(&everything, 1, stream.get());
  return arrays_;
}

/// `count` consecutive numbers, at the same offset on both sides.
kernels::gpu::HostRows StepUpload::part(const void* device, std::size_t count) const {
  const auto offset = static_cast<const std::byte*>(device) - device_.data();
  HostRows rows;
  rows.from = reinterpret_cast<const std::int32_t*>(host().data() + offset);
  rows.to = reinterpret_cast<std::int32_t*>(device_.data() + offset);
  rows.rows = 1;
  rows.width = rows.from_stride = rows.to_stride = static_cast<int>(count);
  return rows;
}

StepArrays StepUpload::decodes_of(int rows) const {
  const std::byte* next = device_.data();
  const auto take = [&](std::int64_t count) {
    const auto* at = reinterpret_cast<const std::int32_t*>(next);
    next += aligned(static_cast<std::size_t>(count) * sizeof(std::int32_t));
    return at;
  };
  StepArrays arrays;
  arrays.num_tokens = arrays.num_sequences = arrays.num_logits_rows = arrays.num_decodes = rows;
  arrays.table_stride = limits_.blocks_a_sequence;
  arrays.tokens = take(rows);
  arrays.positions = take(rows);
  arrays.sequence = take(rows);
  arrays.query_start = take(rows + 1);
  arrays.context = take(rows);
  arrays.logits_rows = take(rows);
  arrays.decode_rows = arrays.sequence;  // sequence i is row i
  arrays.block_tables = take(std::int64_t{rows} * limits_.blocks_a_sequence);
  arrays.new_blocks = take(0);
  return arrays;
}

void StepUpload::pad(const std::int32_t* place, const std::vector<std::int32_t>& values, int rows,
                     std::int32_t padding) {
  const auto offset = reinterpret_cast<const std::byte*>(place) - device_.data();
  auto* to = reinterpret_cast<std::int32_t*>(host().data() + offset);
  std::fill(std::copy(values.begin(), values.end(), to), to + rows, padding);
}

const StepArrays& StepUpload::upload_decodes(const StepBatch& batch, int rows,
                                             const Stream& stream) {
  ++turn_;
  arrays_ = decodes_of(rows);
  pad(arrays_.tokens, batch.tokens, rows, -1);
  pad(arrays_.positions, batch.positions, rows, 0);
  pad(arrays_.sequence, batch.sequence, rows, -1);
  pad(arrays_.query_start, batch.query_start, rows + 1, batch.num_tokens());
  pad(arrays_.context, batch.context, rows, 0);
  pad(arrays_.logits_rows, batch.logits_rows, rows, 0);
  std::array<HostRows, kernels::gpu::kMostHostRows> parts;
  parts[0] = part(device_.data(), static_cast<std::size_t>(arrays_.block_tables - first_number()));
  // On the host, tables are as narrow as this step allows.
  HostRows& tables = parts[1] = part(arrays_.block_tables, 0);
  std::copy(batch.block_tables.begin(), batch.block_tables.end(),
            host().as<std::int32_t>() + (arrays_.block_tables - first_number()));
  tables.rows = batch.num_sequences();
  tables.width = tables.from_stride = batch.table_stride;
  tables.to_stride = arrays_.table_stride;
  arrays_.num_new_blocks = static_cast<int>(batch.new_blocks.size());
  pad(arrays_.new_blocks, batch.new_blocks, arrays_.num_new_blocks, 0);
  parts[2] = part(arrays_.new_blocks, batch.new_blocks.size());
  kernels::gpu::fetch_host_rows(parts.data(), batch.new_blocks.empty() ? 2 : 3, stream.get());
  return arrays_;
}

/// In runs of samples that lie side by side in both places: one run for decodes in unchanged order.
void StepUpload::take_tokens(const std::vector<UnappliedSamples::Taken>& taken,
                             const std::int32_t* sampled, const Stream& stream) const {
  const std::int32_t* tokens = arrays_.tokens;
  for (std::size_t begin = 0, end = 0; begin < taken.size(); begin = end) {
    const auto [row, sample] = taken[begin];
    const auto follows = [&](std::size_t i) {
      const auto ahead = static_cast<int>(i - begin);
      return taken[i].row == row + ahead && taken[i].sample == sample + ahead;
    };
    for (end = begin + 1; end < taken.size() && follows(end);) ++end;
    HostRows run = part(tokens + row, end - begin);
    run.from = sampled + sample;
    kernels::gpu::fetch_host_rows(&run, 1, stream.get());
  }
}

}  // namespace backends::cuda
