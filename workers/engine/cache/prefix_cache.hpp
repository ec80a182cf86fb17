#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "workers/engine/base/block_hash.hpp"
#include "workers/engine/base/ids.hpp"

namespace engine {

/// An array that grows by chunks: elements are not copied, and room for a chunk at most is unused.
template <class T>
class Chunks {
 public:
  /// Elements that there is room for. Those that were never written have their default.
  std::size_t size() const { return chunks_.size() * kChunk; }
  void grow_to(std::size_t size) {
    while (this->size() < size) chunks_.push_back(std::make_unique<T[]>(kChunk));
  }
  const T& operator[](std::size_t i) const { return chunks_[i / kChunk][i % kChunk]; }
  T& operator[](std::size_t i) { return chunks_[i / kChunk][i % kChunk]; }

 private:
  static constexpr std::size_t kChunk = 1024;

  std::vector<std::unique_ptr<T[]>> chunks_;
};

/// Numbers the contents of full blocks, and finds the resident block that holds one.
///
/// A content keeps its number for good. A sequence is numbered from its first block on, and
/// consecutively where it differs from earlier ones, so tables by number are read and written in
/// order, where a hash table would be written at a random place for each block that is registered
/// or evicted. It takes 20 bytes a content, and the pool's size does not bound their number.
///
/// Several blocks may hold the same content, since block tables are append-only and duplicates are
/// not merged; find() returns the one registered first. insert() and erase() walk the duplicates,
/// which are few: a content that is resident is shared, not computed again.
class PrefixCache {
 public:
  explicit PrefixCache(int num_blocks);

  /// Extends the contents of a sequence to all `hashes` of its blocks. Keeps numbers for as many
  /// blocks as the sequence may have in all.
  void number_contents(std::vector<ContentId>& contents, std::span<const BlockHash> hashes,
                       std::size_t most_blocks);
  /// The content with this hash, which follows `before` in a sequence (none: begins one), or none
  /// if it has no number.
  ContentId content_after(ContentId before, const BlockHash& hash) const {
    const std::uint32_t behind = index(before) + 1;
    if (behind < size_ && hashes_[behind] == hash) return ContentId{behind};
    return runs_[place_of_run(hash)];
  }

  std::optional<BlockId> find(ContentId content) const {
    const BlockId block = first_[index(content)];
    return block == BlockId{0} ? std::nullopt : std::optional(block);
  }
  /// Steps from `at` to the content of this hash that follows it, and finds its block.
  std::optional<BlockId> find_next(ContentId& at, const BlockHash& hash) const {
    at = content_after(at, hash);
    return find(at);
  }
  bool contains(BlockId block) const { return content_of(block) != ContentId::none; }
  /// The block's registered content, or none.
  ContentId content_of(BlockId block) const { return contents_[index(block)]; }
  const BlockHash& hash_of(ContentId content) const { return hashes_[index(content)]; }
  /// Numbers that there is room for.
  std::size_t room() const { return hashes_.size(); }

  /// Brings what erase() of the block needs near. Changes nothing.
  void prefetch(BlockId block) const { __builtin_prefetch(&first_[index(content_of(block))]); }
  /// The block must not be registered yet.
  void insert(ContentId content, BlockId block);
  /// The block must be registered.
  void erase(BlockId block);

  /// Whether the block, which is registered, is among those found by its content. For checks.
  bool finds(BlockId block) const;
  int num_blocks() const { return num_blocks_; }

 private:
  void number_new(std::vector<ContentId>& contents, std::span<const BlockHash> hashes,
                  std::size_t most_blocks);
  void begin_run(const BlockHash& hash, std::size_t most_blocks);
  void grow(std::size_t size);
  std::size_t place_of_run(const BlockHash& hash) const;
  std::uint32_t run_end(ContentId content) const;

  Chunks<BlockHash> hashes_;         // by content
  std::vector<BlockId> first_;       // by content: the block registered first, or 0
  std::vector<ContentId> contents_;  // by block; none: not registered
  std::vector<BlockId> next_same_;   // by block: that with the same content registered next, or 0
  // A run is consecutive numbers of blocks that follow each other in a sequence.
  std::vector<std::uint32_t> starts_;  // of all runs, ascending
  std::vector<ContentId> runs_;        // the same in an open hash table; none: empty
  std::uint32_t size_ = 1;             // numbers in use, with 0
  int num_blocks_ = 0;
};

}  // namespace engine
