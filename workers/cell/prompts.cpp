#include "workers/cell/prompts.hpp"

#include <algorithm>

namespace worker {

Prompts::Prompts(const workload::Workload& workload, int block_size, TokenUse use)
    : workload_(workload),
      block_size_(static_cast<std::size_t>(block_size)),
      made_(workload.jobs.size()) {
  int longest = 0;
  for (std::size_t job = 0; job < made_.size(); ++job) {
    longest = std::max(longest, workload::longest_turn(workload.jobs[job]));
    if (!workload.prompts)
      made_[job].hashes = engine::hash_blocks(workload.jobs[job].tokens, block_size);
  }
  if (workload.prompts && use == TokenUse::counted)
    placeholders_.resize(static_cast<std::size_t>(longest));
}

void Prompts::begin(std::uint32_t job, int turn, engine::RequestSpec& spec) {
  const workload::Turn& of = workload_.jobs[job].turns[static_cast<std::size_t>(turn)];
  Made& made = made_[job];
  std::span<const engine::TokenId> tokens(workload_.jobs[job].tokens);
  if (workload_.prompts) {
    make(job, turn, made);
    hash(job, turn, made);
    if (!placeholders_.empty()) release(made.tokens);
    tokens = placeholders_.empty() ? std::span(made.tokens) : std::span(placeholders_);
  }
  const auto prompt = static_cast<std::size_t>(of.prompt_tokens);
  spec.prompt = tokens.first(prompt);
  spec.forced = tokens.subspan(prompt, static_cast<std::size_t>(of.output_tokens));
  spec.known_hashes = made.hashes;
}

void Prompts::make(std::uint32_t job, int turn, Made& made) {
  if (!unused_.empty()) {
    made.tokens = std::move(unused_.back());
    unused_.pop_back();
  }
  const workload::Turn& of = workload_.jobs[job].turns[static_cast<std::size_t>(turn)];
  const auto size = static_cast<std::size_t>(of.prompt_tokens + of.output_tokens);
  if (made.tokens.capacity() < size)
    made.tokens = std::vector<engine::TokenId>();  // frees it: make() allocates `size` and no more
  workload_.prompts->make(job, turn, made.tokens);
}

/// Hashes only what the previous turn's prompt does not have.
void Prompts::hash(std::uint32_t job, int turn, Made& made) const {
  const int same = computed_before(workload_.jobs[job], static_cast<std::size_t>(turn));
  made.hashes.resize(std::min(made.hashes.size(), static_cast<std::size_t>(same) / block_size_));
  made.hashes.reserve(made.tokens.size() / block_size_);
  engine::BlockHash parent = made.hashes.empty() ? engine::root_hash() : made.hashes.back();
  const std::span tokens(made.tokens);
  for (std::size_t at = made.hashes.size() * block_size_; at + block_size_ <= tokens.size();
       at += block_size_)
    made.hashes.push_back(parent = engine::chain_hash(parent, tokens.subspan(at, block_size_)));
}

/// Keeps a few buffers for later turns.
void Prompts::release(std::vector<engine::TokenId>& tokens) {
  constexpr std::size_t kMostUnused = 16;
  if (unused_.size() < kMostUnused) unused_.push_back(std::move(tokens));
  tokens = std::vector<engine::TokenId>();  // `{}` would keep the memory
}

void Prompts::end(std::uint32_t job, int turn) {
  Made& made = made_[job];
  if (workload_.prompts && placeholders_.empty()) release(made.tokens);
  if (static_cast<std::size_t>(turn) + 1 == workload_.jobs[job].turns.size())
    made.hashes = std::vector<engine::BlockHash>();
}

}  // namespace worker
