#include "workers/workload/tokenizer/bpe_merge.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

namespace workload {
namespace {

// Up to this size a scan for the lowest priority is faster than the heap, and the piece fits on the
// stack.
constexpr std::size_t kShortBytes = 48;

constexpr std::uint32_t kNoPart = ~std::uint32_t{0};

/// Closes the gap that index `at` leaves in the first `size` entries.
template <class T>
void erase(T* values, std::size_t size, std::size_t at) {
  std::memmove(values + at, values + at + 1, (size - at - 1) * sizeof(T));
}

}  // namespace

void BpeMerger::append(std::string_view piece, std::vector<engine::TokenId>& ids) {
  if (piece.size() <= kShortBytes) {
    append_short(piece, ids);
  } else {
    append_long(piece, ids);
  }
}

// token[i] and token[i + 1] merge into merged[i] with priority[i].
void BpeMerger::append_short(std::string_view piece, std::vector<engine::TokenId>& ids) {
  std::array<engine::TokenId, kShortBytes> token, merged;
  std::array<std::uint32_t, kShortBytes> priority;
  std::size_t size = piece.size();
  const auto look_up = [&](std::size_t at) {
    const auto merge = at + 1 < size ? vocabulary_.merge(token[at], token[at + 1]) : Merge{};
    priority[at] = merge.priority;
    merged[at] = merge.id;
  };
  for (std::size_t at = 0; at < size; ++at) token[at] = vocabulary_.byte_token(piece[at]);
  for (std::size_t at = 0; at < size; ++at) look_up(at);
  while (size > 1) {
    std::size_t best = 0;
    for (std::size_t at = 1; at < size; ++at) {
      if (priority[at] < priority[best]) best = at;
    }
    if (priority[best] == kNoMerge) break;
    token[best] = merged[best];
    erase(token.data(), size, best + 1);
    erase(merged.data(), size, best + 1);
    erase(priority.data(), size, best + 1);
    --size;
    look_up(best);
    if (best > 0) look_up(best - 1);
  }
  ids.insert(ids.end(), token.begin(), token.begin() + static_cast<std::ptrdiff_t>(size));
}

void BpeMerger::append_long(std::string_view piece, std::vector<engine::TokenId>& ids) {
  link(piece);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    const auto best = heap_.back();
    heap_.pop_back();
    const auto at = static_cast<std::uint32_t>(best);
    // Skips stale entries: a part with a changed merge was pushed again with its new priority.
    if (parts_[at].merge.priority == best >> 32U) join(at);
  }
  for (std::size_t at = 0; at < parts_.size(); at = parts_[at].next) ids.push_back(parts_[at].id);
}

void BpeMerger::link(std::string_view piece) {
  heap_.clear();
  parts_.clear();
  for (const char byte : piece) {
    const auto at = static_cast<std::uint32_t>(parts_.size());
    parts_.push_back({vocabulary_.byte_token(byte), at == 0 ? kNoPart : at - 1, at + 1, {}});
  }
  for (std::uint32_t at = 0; at < parts_.size(); ++at) offer(at);
}

/// Looks up the merge of the part with its right neighbor, and pushes it onto the heap.
void BpeMerger::offer(std::uint32_t at) {
  auto& part = parts_[at];
  part.merge =
      part.next < parts_.size() ? vocabulary_.merge(part.id, parts_[part.next].id) : Merge{};
  if (part.merge.priority == kNoMerge) return;
  heap_.push_back((std::uint64_t{part.merge.priority} << 32U) | at);
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
}

/// Merges the part with its right neighbor and removes the neighbor from the list.
void BpeMerger::join(std::uint32_t at) {
  auto& part = parts_[at];
  auto& gone = parts_[part.next];
  part.id = part.merge.id;
  part.next = gone.next;
  gone.merge = {};  // makes its heap entry stale
  if (part.next < parts_.size()) parts_[part.next].previous = at;
  offer(at);
  if (part.previous != kNoPart) offer(part.previous);
}

}  // namespace workload
