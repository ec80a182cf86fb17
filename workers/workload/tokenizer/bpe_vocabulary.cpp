#include "workers/workload/tokenizer/bpe_vocabulary.hpp"

#include <algorithm>
#include <bit>
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

template <class Word>
std::uint64_t load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 32U);
}

/// Hashes words of the text, reading every byte once or twice. Pieces are short, so there is no
/// loop below 16 bytes.
std::uint64_t hash_of(std::string_view bytes) {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t hash = mix(0x2545F4914F6CDD1DU, left);
  for (; left > 16; at += 8, left -= 8) hash = mix(hash, load<std::uint64_t>(at));
  if (left >= 8) {
    return mix(mix(hash, load<std::uint64_t>(at)), load<std::uint64_t>(at + left - 8));
  }
  if (left >= 4) {
    return mix(hash, load<std::uint32_t>(at) | load<std::uint32_t>(at + left - 4) << 32U);
  }
  if (left == 0) return hash;
  return mix(hash, load<std::uint8_t>(at) | load<std::uint8_t>(at + left / 2) << 8U |
                       load<std::uint8_t>(at + left - 1) << 16U);
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

TokenBytes::TokenBytes(const std::vector<std::string>& tokens) {
  begin_.reserve(tokens.size() + 1);
  begin_.push_back(0);
  for (const auto& token : tokens) {
    bytes_ += token;
    begin_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
}

PieceTable::PieceTable(std::size_t tokens) : slots_(std::bit_ceil(2 * tokens + 1)) {}

bool PieceTable::insert(const TokenBytes& tokens, engine::TokenId id) {
  const auto piece = tokens[id];
  if (find(tokens, piece) != kNoToken) return false;
  const auto hash = hash_of(piece);
  auto at = hash & (slots_.size() - 1);
  while (slots_[at].id != kNoToken) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {static_cast<std::uint32_t>(hash >> 32U), id};
  longest_ = std::max(longest_, piece.size());
  return true;
}

engine::TokenId PieceTable::find(const TokenBytes& tokens, std::string_view piece) const {
  if (piece.size() > longest_) return kNoToken;
  const auto hash = hash_of(piece);
  const auto tag = static_cast<std::uint32_t>(hash >> 32U);
  for (auto at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    const auto& slot = slots_[at];
    if (slot.id == kNoToken) return kNoToken;
    if (slot.tag == tag && tokens[slot.id] == piece) return slot.id;
  }
}

MergeTable::MergeTable(std::size_t merges)
    : slots_(std::bit_ceil(merges * 4 / 3 + 2)), shift_(64 - std::countr_zero(slots_.size())) {}

void MergeTable::insert(engine::TokenId left, engine::TokenId right, Merge merge) {
  const auto key = key_of(left, right);
  auto at = home(key);
  while (slots_[at].key != kEmpty && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
  if (slots_[at].key == kEmpty) slots_[at] = {key, merge};
}

BpeVocabulary::BpeVocabulary(const std::vector<std::string>& tokens, std::size_t merges)
    : tokens_(tokens), pieces_(tokens.size()), merges_(merges) {
  for (engine::TokenId id = 0; id < tokens_.size(); ++id) {
    if (tokens_[id].size() == 1) byte_tokens_[static_cast<unsigned char>(tokens_[id][0])] = id;
  }
}

BpeVocabulary BpeVocabulary::from_ranks(const std::vector<std::string>& tokens) {
  std::size_t splits = 0;
  for (const auto& token : tokens) splits += token.empty() ? 0 : token.size() - 1;
  BpeVocabulary vocabulary(tokens, splits);
  for (engine::TokenId id = 0; id < vocabulary.size(); ++id) {
    vocabulary.pieces_.insert(vocabulary.tokens_, id);
  }
  for (engine::TokenId id = 0; id < vocabulary.size(); ++id) vocabulary.merge_all_splits(id);
  return vocabulary;
}

void BpeVocabulary::merge_all_splits(engine::TokenId id) {
  const auto token = tokens_[id];
  for (std::size_t at = 1; at < token.size(); ++at) {
    const auto left = find(token.substr(0, at));
    if (left == kNoToken) continue;
    const auto right = find(token.substr(at));
    if (right != kNoToken) merges_.insert(left, right, {id, id});
  }
}

BpeVocabulary BpeVocabulary::from_merges(const std::vector<std::string>& tokens,
                                         const std::vector<MergeRule>& rules, bool whole_pieces) {
  BpeVocabulary vocabulary(tokens, rules.size());
  for (std::uint32_t priority = 0; priority < rules.size(); ++priority) {
    const auto& rule = rules[priority];
    vocabulary.merges_.insert(rule.left, rule.right, {priority, rule.merged});
  }
  BpeMerger merger(vocabulary);
  std::vector<engine::TokenId> built;
  for (engine::TokenId id = 0; id < vocabulary.size(); ++id) {
    const auto token = vocabulary.bytes(id);
    if (token.empty()) continue;
    built.clear();
    if (!whole_pieces) merger.append(token, built);
    if (whole_pieces || built == std::vector{id}) vocabulary.pieces_.insert(vocabulary.tokens_, id);
  }
  return vocabulary;
}

std::string BpeVocabulary::decode(const std::vector<engine::TokenId>& ids) const {
  std::string text;
  for (const auto id : ids) text += tokens_[id];
  return text;
}

int missing_byte(const std::vector<std::string>& tokens) {
  std::array<bool, 256> found{};
  for (const auto& token : tokens) {
    if (token.size() == 1) found[static_cast<unsigned char>(token[0])] = true;
  }
  const auto* missing = std::find(found.begin(), found.end(), false);
  return missing == found.end() ? -1 : static_cast<int>(missing - found.begin());
}

}  // namespace workload
