// Priorities by ranges of tokens, each for some time, as TensorRT-LLM's retention configuration has
// them: the least priority goes first, and a priority that has run out is the usual one. Time
// counts from the end or preemption of the turn, pinned or not. Of two priorities of a block that
// turns share, the higher one counts while it lasts.
#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <vector>

#include "workers/policies/eviction/config.hpp"

namespace policies {
namespace {

using engine::BlockId;
using engine::Nanos;
using engine::Request;

constexpr int kUsual = 35;  // TensorRT-LLM's

struct Priority {
  int value = kUsual;
  Nanos until = Nanos::max();
  auto operator<=>(const Priority&) const = default;
};

constexpr Parameter kRetained = {
    .name = "retained",
    .check_text = [](const std::string& text) { parse_retained(text); },
    .says =
        "Priorities (0 to 100, else 35) of the KV of ranges of a context's tokens, and the "
        "seconds that they last after the turn, as 0-512:100, 512-:50:2.5, "
        "generated:20; KV of low priority is evicted first."};

class RetentionPriority final : public engine::EvictionRule {
 public:
  explicit RetentionPriority(const EvictionConfig& config)
      : retained_(parse_retained(text_of(kRetained, config.parameters))) {}

  void prepare(int num_blocks, int block_size) override {
    blocks_.resize(static_cast<std::size_t>(num_blocks) + 1);
    block_size_ = block_size;
  }

  engine::EvictionRank rank(BlockId block, Nanos now) const override {
    const Priority& given = blocks_[index(block)].given;
    if (given.until <= now) return {kUsual};
    return {static_cast<double>(given.value), given.until};
  }

  void on_registered(const Request& turn, int i) override {
    blocks_[index(turn.blocks[static_cast<std::size_t>(i)])] = {};
  }

  void on_released(const Request& turn, Nanos now) override {
    for (std::size_t i = 0; i < turn.blocks.size(); ++i) {
      Block& block = blocks_[index(turn.blocks[i])];
      const Priority given = given_to(static_cast<int>(i) * block_size_, turn, now);
      const bool lasts = block.released && block.given.until > now;
      block = {true, lasts ? std::max(block.given, given) : given};
    }
  }

 private:
  struct Block {
    bool released = false;  // since its content is there
    Priority given;
  };
  Priority given_to(int token, const Request& turn, Nanos now) const {
    const bool generated = token >= turn.num_prompt() && !retained_.generated.empty();
    for (const RetainedRange& range : generated ? retained_.generated : retained_.ranges) {
      if (token < range.begin || token >= range.end) continue;
      return {range.priority, range.lasts == Nanos::max() ? range.lasts : now + range.lasts};
    }
    return {};
  }

  RetainedRanges retained_;
  int block_size_ = 0;
  std::vector<Block> blocks_;
};

constexpr std::string_view kGenerated = "generated";

/// Reads text from its front.
class RangeReader {
 public:
  explicit RangeReader(std::string_view text) : whole_(text), left_(text) {}

  bool done() {
    while (take(" ")) {
    }
    return left_.empty();
  }
  bool take(std::string_view word) {
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) fail();
  }
  template <class T>
  T number(T most) {
    T value{};
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
    if (error != std::errc() || !(value >= 0 && value <= most)) fail();
    left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
    return value;
  }
  bool at_number() const { return !left_.empty() && left_[0] >= '0' && left_[0] <= '9'; }

 private:
  [[noreturn]] void fail() const {
    throw engine::InputError(
        "must list ranges of tokens with priorities of 0 to 100 and seconds, such as "
        "\"0-512:100, 512-:35:2.5, generated:20\", found \"" +
        std::string(whole_) + '"');
  }
  std::string_view whole_, left_;
};

constexpr int kMostTokens = std::numeric_limits<int>::max();

}  // namespace

RetainedRanges parse_retained(const std::string& text) {
  RetainedRanges retained;
  RangeReader in(text);
  while (!in.done()) {
    if (!retained.ranges.empty() || !retained.generated.empty()) {
      in.expect(",");
      in.done();
    }
    RetainedRange range{.end = kMostTokens};
    const bool generated = in.take(kGenerated);
    if (!generated) {
      range.begin = in.number(kMostTokens);
      in.expect("-");
      if (in.at_number()) range.end = in.number(kMostTokens);
    }
    in.expect(":");
    range.priority = in.number(100);
    if (in.take(":")) range.lasts = engine::from_seconds(in.number(1e6));
    (generated ? retained.generated : retained.ranges).push_back(range);
  }
  return retained;
}

RuleEntry retention_priority_rule() {
  return {"retention_priority", RuleEntry::makes<RetentionPriority>, {kRetained}};
}

}  // namespace policies
