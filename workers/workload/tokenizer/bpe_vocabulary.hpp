#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "workers/engine/base/ids.hpp"

namespace workload {

inline constexpr engine::TokenId kNoToken = std::numeric_limits<engine::TokenId>::max();
inline constexpr std::uint32_t kNoMerge = std::numeric_limits<std::uint32_t>::max();

/// The result of merging two adjacent tokens. The pair with the lowest priority in a piece merges
/// first.
struct Merge {
  std::uint32_t priority = kNoMerge;
  engine::TokenId id = kNoToken;
};

/// One line of a merge list: `left` and `right` become `merged`.
struct MergeRule {
  engine::TokenId left;
  engine::TokenId right;
  engine::TokenId merged;
};

/// The concatenated bytes of all tokens. An id without a token has no bytes.
class TokenBytes {
 public:
  explicit TokenBytes(const std::vector<std::string>& tokens);
  std::string_view operator[](engine::TokenId id) const {
    return {bytes_.data() + begin_[id], begin_[id + 1] - begin_[id]};
  }
  engine::TokenId size() const { return static_cast<engine::TokenId>(begin_.size() - 1); }

 private:
  std::string bytes_;
  std::vector<std::uint32_t> begin_;  // [size + 1] offsets into bytes_
};

/// Maps bytes to a token: open addressing, at most half full. Stores ids only; the bytes are in
/// TokenBytes.
class PieceTable {
 public:
  explicit PieceTable(std::size_t tokens);
  /// False when there already is a token with these bytes.
  bool insert(const TokenBytes& tokens, engine::TokenId id);
  engine::TokenId find(const TokenBytes& tokens, std::string_view piece) const;

 private:
  struct Slot {
    std::uint32_t tag = 0;
    engine::TokenId id = kNoToken;
  };
  std::vector<Slot> slots_;
  std::size_t longest_ = 0;  // bytes of the longest token: longer pieces need no look-up
};

/// Maps two adjacent tokens to their merge: open addressing, at most three quarters full.
class MergeTable {
 public:
  explicit MergeTable(std::size_t merges);
  /// Keeps the first merge given for a pair.
  void insert(engine::TokenId left, engine::TokenId right, Merge merge);
  Merge find(engine::TokenId left, engine::TokenId right) const {
    const std::uint64_t key = key_of(left, right);
    for (std::size_t at = home(key);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].key == key) return slots_[at].merge;
      if (slots_[at].key == kEmpty) return {};
    }
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // no pair has two kNoToken
  struct Slot {
    std::uint64_t key = kEmpty;
    Merge merge;
  };
  static std::uint64_t key_of(engine::TokenId left, engine::TokenId right) {
    return (std::uint64_t{left} << 32U) | right;
  }
  std::size_t home(std::uint64_t key) const { return (key * 0x9E3779B97F4A7C15U) >> shift_; }

  std::vector<Slot> slots_;
  int shift_;
};

/// A byte-level BPE vocabulary: every single byte is a token, all others come from merges.
class BpeVocabulary {
 public:
  /// Rank file: two tokens merge if their joined bytes are a token, lower rank first. A piece that
  /// is a token becomes that token.
  static BpeVocabulary from_ranks(const std::vector<std::string>& tokens);
  /// Merge list: earlier rules first. With `whole_pieces`, a piece that is a token becomes that
  /// token even when the rules would not build it (`ignore_merges` of a tokenizer.json).
  static BpeVocabulary from_merges(const std::vector<std::string>& tokens,
                                   const std::vector<MergeRule>& rules, bool whole_pieces);

  /// The token equal to the whole of `piece`, or kNoToken.
  engine::TokenId find(std::string_view piece) const { return pieces_.find(tokens_, piece); }
  Merge merge(engine::TokenId left, engine::TokenId right) const {
    return merges_.find(left, right);
  }
  engine::TokenId byte_token(char byte) const {
    return byte_tokens_[static_cast<unsigned char>(byte)];
  }
  std::string_view bytes(engine::TokenId id) const { return tokens_[id]; }
  engine::TokenId size() const { return tokens_.size(); }
  /// The bytes of these ids, which are all below size().
  std::string decode(const std::vector<engine::TokenId>& ids) const;

 private:
  BpeVocabulary(const std::vector<std::string>& tokens, std::size_t merges);
  void merge_all_splits(engine::TokenId id);

  TokenBytes tokens_;
  PieceTable pieces_;
  MergeTable merges_;
  std::array<engine::TokenId, 256> byte_tokens_{};
};

/// The first byte without a token of its own, or -1. A vocabulary that lacks one cannot encode
/// every text.
int missing_byte(const std::vector<std::string>& tokens);

/// Merges pieces one at a time. Keeps its buffers between pieces: use one merger per encode() call.
class BpeMerger {
 public:
  explicit BpeMerger(const BpeVocabulary& vocabulary) : vocabulary_(vocabulary) {}
  /// Appends the tokens of `piece`: starts from its bytes and merges the pair with the lowest
  /// priority, the leftmost of equals, until no pair merges.
  void append(std::string_view piece, std::vector<engine::TokenId>& ids);

 private:
  void append_short(std::string_view piece, std::vector<engine::TokenId>& ids);
  void append_long(std::string_view piece, std::vector<engine::TokenId>& ids);
  void link(std::string_view piece);
  void offer(std::uint32_t at);
  void join(std::uint32_t at);

  /// A token of the piece, and its merge with the token to the right.
  struct Part {
    engine::TokenId id;
    std::uint32_t previous;
    std::uint32_t next;  // index of the token to the right; parts_.size() at the end
    Merge merge;
  };

  const BpeVocabulary& vocabulary_;
  std::vector<Part> parts_;  // long pieces: a list linked by index
  std::vector<std::uint64_t>
      heap_;  // (priority, index), the lowest first; stale entries are skipped
};

}  // namespace workload
