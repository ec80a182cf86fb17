#include "tests/engine/support/tagged_kv.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace support {
namespace {

/// The token, which may be in flight.
engine::TokenId token_of(const engine::Request& request, int i) {
  if (i < request.num_tokens()) return request.token(i);
  return request.spec.forced[static_cast<std::size_t>(i - request.num_prompt())];
}

/// FNV-1a over the tokens up to and including each position; shares no code with the engine's hash.
std::vector<std::uint64_t> prefix_tags(const engine::Request& request, int count) {
  std::vector<std::uint64_t> tags;
  std::uint64_t tag = 0xcbf29ce484222325 ^ request.spec.salt;
  for (int i = 0; i < count; ++i) {
    tag = (tag ^ (token_of(request, i) + 1)) * 0x100000001b3;
    tags.push_back(tag);
  }
  return tags;
}

}  // namespace

TaggedKv::TaggedKv(const engine::KvConfig& config)
    : block_size_(config.block_size),
      slots_(static_cast<std::size_t>(config.num_blocks) *
             static_cast<std::size_t>(config.block_size)) {}

std::uint64_t& TaggedKv::slot(const engine::Request& request, int position) {
  const auto block = request.blocks.at(static_cast<std::size_t>(position / block_size_));
  const auto first = engine::index(block) * static_cast<std::size_t>(block_size_);
  return slots_.at(first + static_cast<std::size_t>(position % block_size_));
}

std::span<std::uint64_t> TaggedKv::block(engine::BlockId block) {
  const auto size = static_cast<std::size_t>(block_size_);
  return std::span(slots_).subspan(engine::index(block) * size, size);
}

void TaggedKv::fill(const engine::Request& request, int first_block, int num_blocks) {
  const int end = std::min((first_block + num_blocks) * block_size_, request.num_tokens());
  const auto tags = prefix_tags(request, end);
  for (int p = first_block * block_size_; p < end; ++p)
    slot(request, p) = tags[static_cast<std::size_t>(p)];
}

void TaggedKv::execute(const engine::StepPlan& plan) {
  std::vector<std::vector<std::uint64_t>> tags;
  for (const auto& share : plan.scheduled) {
    const int end = share.computed_before + share.num_tokens;
    tags.push_back(prefix_tags(*share.request, end));
    for (int p = share.computed_before; p < end; ++p)
      slot(*share.request, p) = tags.back()[static_cast<std::size_t>(p)];
  }
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const engine::Request& request = *plan.scheduled[i].request;
    for (std::size_t p = 0; p < tags[i].size(); ++p) {
      if (slot(request, static_cast<int>(p)) == tags[i][p]) continue;
      throw std::logic_error("request " + std::to_string(engine::index(request.id)) +
                             " reads KV of other tokens at position " + std::to_string(p));
    }
  }
}

}  // namespace support
