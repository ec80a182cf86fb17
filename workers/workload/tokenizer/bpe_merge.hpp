#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "workers/workload/tokenizer/bpe_vocabulary.hpp"

namespace workload {

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
