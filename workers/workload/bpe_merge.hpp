#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "workers/workload/bpe_vocabulary.hpp"

namespace workload {

/// Merges one piece after the other. Keeps its working memory between pieces: one merger for each
/// encode() call.
class BpeMerger {
 public:
  explicit BpeMerger(const BpeVocabulary& vocabulary) : vocabulary_(vocabulary) {}
  /// Appends the tokens that merging the bytes of `piece` leaves: always the pair of the lowest
  /// priority, the leftmost of equals, until no pair merges.
  void append(std::string_view piece, std::vector<engine::TokenId>& ids);

 private:
  void append_short(std::string_view piece, std::vector<engine::TokenId>& ids);
  void append_long(std::string_view piece, std::vector<engine::TokenId>& ids);
  void link(std::string_view piece);
  void offer(std::uint32_t at);
  void join(std::uint32_t at);

  /// A token of the piece and what it and its right neighbour become.
  struct Part {
    engine::TokenId id;
    std::uint32_t previous;
    std::uint32_t next;  // index of the right neighbour; parts_.size() at the end
    Merge merge;
  };

  const BpeVocabulary& vocabulary_;
  std::vector<Part> parts_;  // long pieces: a list linked by index
  std::vector<std::uint64_t>
      heap_;  // (priority, index), the lowest first; stale entries are skipped
};

}  // namespace workload
