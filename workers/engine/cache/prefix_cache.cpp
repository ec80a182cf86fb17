#include "workers/engine/cache/prefix_cache.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <stdexcept>
#include <utility>

namespace engine {

namespace {

constexpr std::size_t kRoomForRuns = 512;
constexpr BlockHash kUnknown{};  // of a number that is kept for the end of a sequence

void append_run(ContentId first, std::size_t count, std::vector<ContentId>& to) {
  const std::size_t before = to.size();
  to.resize(before + count);
  for (std::uint32_t i = 0; i < count; ++i) to[before + i] = ContentId{index(first) + i};
}

}  // namespace

PrefixCache::PrefixCache(int num_blocks)
    : contents_(static_cast<std::size_t>(num_blocks)),
      next_same_(static_cast<std::size_t>(num_blocks)),
      runs_(kRoomForRuns) {
  starts_.reserve(kRoomForRuns);
  grow(size_);
}

void PrefixCache::number_contents(std::vector<ContentId>& contents,
                                  std::span<const BlockHash> hashes, std::size_t most_blocks) {
  while (contents.size() < hashes.size()) {
    const auto rest = hashes.subspan(contents.size());
    const ContentId before = contents.empty() ? ContentId::none : contents.back();
    const ContentId first = content_after(before, rest[0]);
    if (first == ContentId::none) {
      number_new(contents, rest, most_blocks);
      continue;
    }
    // A hash covers all that precedes its block: two sequences are equal up to any equal hash.
    const auto equal = [&](std::size_t i) { return hashes_[index(first) + i] == rest[i]; };
    const auto most = std::min<std::size_t>(run_end(first) - index(first), rest.size());
    std::size_t shared = equal(most - 1) ? most : 1;  // blocks known to be equal
    for (std::size_t differs = most; shared < differs;) {
      const std::size_t middle = (shared + differs) / 2;
      equal(middle) ? shared = middle + 1 : differs = middle;
    }
    append_run(first, shared, contents);
  }
}

/// Numbers contents that are new, as are all that follow a new one: by the numbers behind the last
/// content, or by a new run where another sequence has those.
void PrefixCache::number_new(std::vector<ContentId>& contents, std::span<const BlockHash> hashes,
                             std::size_t most_blocks) {
  const std::uint32_t behind = contents.empty() ? 0 : index(contents.back()) + 1;
  const bool taken = behind == 0 || (behind < size_ && hashes_[behind] != kUnknown);
  const std::uint32_t id = taken ? size_ : behind;
  if (taken) {
    begin_run(hashes[0], std::max(most_blocks, contents.size() + hashes.size()) - contents.size());
  } else if (starts_.back() < id) {
    grow(id + hashes.size());
  }
  const auto count = std::min<std::size_t>(run_end(ContentId{id}) - id, hashes.size());
  for (std::size_t i = 0; i < count; ++i) hashes_[id + i] = hashes[i];
  append_run(ContentId{id}, count, contents);
}

void PrefixCache::begin_run(const BlockHash& hash, std::size_t most_blocks) {
  const ContentId first{size_};
  starts_.push_back(size_);
  grow(size_ + most_blocks);
  hashes_[index(first)] = hash;
  if (2 * starts_.size() > runs_.size()) {
    runs_.assign(4 * starts_.size(), ContentId::none);
    for (const std::uint32_t start : starts_)
      runs_[place_of_run(hashes_[start])] = ContentId{start};
  } else {
    runs_[place_of_run(hash)] = first;
  }
}

/// Where the run that begins with this hash is in the table, or would be.
std::size_t PrefixCache::place_of_run(const BlockHash& hash) const {
  std::size_t at = hash.low % runs_.size();
  while (runs_[at] != ContentId::none && hashes_[index(runs_[at])] != hash)
    at = at + 1 == runs_.size() ? 0 : at + 1;
  return at;
}

void PrefixCache::grow(std::size_t size) {
  if (size > std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("a cell has more contents of blocks than can be numbered");
  size_ = std::max(size_, static_cast<std::uint32_t>(size));
  hashes_.grow_to(size_);
  first_.resize(room());
}

/// The number behind those of the content's run.
std::uint32_t PrefixCache::run_end(ContentId content) const {
  const auto next = std::ranges::upper_bound(starts_, index(content));
  return next == starts_.end() ? size_ : *next;
}

void PrefixCache::insert(ContentId content, BlockId block) {
  assert(content != ContentId::none && !contains(block));
  contents_[index(block)] = content;
  ++num_blocks_;
  BlockId* last = &first_[index(content)];
  while (*last != BlockId{0}) last = &next_same_[index(*last)];
  *last = block;
}

void PrefixCache::erase(BlockId block) {
  assert(contains(block));
  BlockId* at = &first_[index(std::exchange(contents_[index(block)], ContentId::none))];
  while (*at != block) at = &next_same_[index(*at)];
  *at = std::exchange(next_same_[index(block)], BlockId{0});
  --num_blocks_;
}

bool PrefixCache::finds(BlockId block) const {
  BlockId at = first_[index(content_of(block))];
  while (at != block && at != BlockId{0}) at = next_same_[index(at)];
  return at == block;
}

}  // namespace engine
