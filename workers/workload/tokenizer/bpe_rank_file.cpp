#include <charconv>
#include <cstdint>
#include <optional>
#include <unordered_set>

#include "workers/engine/base/errors.hpp"
#include "workers/workload/tokenizer/bpe_source.hpp"
#include "workers/workload/tokenizer/pretokenizer.hpp"

namespace workload {
namespace {

// Rank files of at least this size use the cl100k pattern: cl100k_base has 100,256 ranks, Llama 3
// 128,000, r50k_base 50,256.
constexpr std::size_t kCl100kRanks = 100'000;

/// Value of a base64 digit, or -1.
int digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/// Padded base64, as tiktoken writes it.
std::optional<std::string> decode_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  while (text.back() == '=' && text.size() % 4 != 2) text.remove_suffix(1);
  std::string bytes;
  std::uint32_t bits = 0;
  unsigned pending = 0;
  for (const char c : text) {
    const int value = digit(c);
    if (value < 0) return std::nullopt;
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    pending += 6;
    if (pending < 8) continue;
    pending -= 8;
    bytes += static_cast<char>(bits >> pending & 0xFFU);
  }
  return bytes;
}

std::optional<std::size_t> parse_rank(std::string_view text) {
  std::size_t rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return rank;
}

/// The line for an error message, short and printable.
std::string quoted(std::string_view line) {
  std::string shown = "\"";
  for (const char c : line.substr(0, 40)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown + (line.size() > 40 ? "...\"" : "\"");
}

class RankFile {
 public:
  explicit RankFile(const std::string& path) : path_(path) {}

  void read(std::string_view line) {
    ++line_;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) return;
    const auto space = line.find(' ');
    if (space == std::string_view::npos) refuse_line(line);
    const auto bytes = decode_base64(line.substr(0, space));
    const auto rank = parse_rank(line.substr(space + 1));
    if (tokens_.empty() && !(bytes && rank)) refuse_line(line);
    if (!bytes) refuse("bad base64 " + quoted(line.substr(0, space)));
    if (!rank) refuse("bad rank " + quoted(line.substr(space + 1)));
    if (bytes->size() > kLongestToken) {
      refuse("a token of " + std::to_string(bytes->size()) + " bytes, allowed " +
             std::to_string(kLongestToken));
    }
    expect_rank(*rank);
    if (!seen_.insert(*bytes).second) {
      refuse("the bytes " + quoted(line.substr(0, space)) + " have a rank already");
    }
    tokens_.push_back(*bytes);
  }

  std::vector<std::string> finish() {
    if (tokens_.empty()) throw engine::InputError(path_ + ": no ranks, not a tokenizer file");
    if (const int byte = missing_byte(tokens_); byte >= 0) {
      throw engine::InputError(path_ +
                               ": not a byte-level vocabulary: no rank for the single byte " +
                               std::to_string(byte));
    }
    return std::move(tokens_);
  }

 private:
  void expect_rank(std::size_t rank) const {
    if (rank == tokens_.size()) return;
    const bool seen = rank < tokens_.size();
    refuse((seen ? "duplicate rank " : "a hole before rank ") + std::to_string(rank) +
           ", expected " + std::to_string(tokens_.size()) + " (ranks are consecutive from 0)");
  }

  [[noreturn]] void refuse_line(std::string_view line) const {
    refuse("found " + quoted(line) +
           ", expected \"base64 rank\" (tiktoken rank file) or a JSON object (tokenizer.json)");
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw engine::InputError(path_ + ":" + std::to_string(line_) + ": " + why);
  }

  const std::string& path_;
  std::size_t line_ = 0;
  std::vector<std::string> tokens_;  // by rank
  std::unordered_set<std::string> seen_;
};

/// Llama 3 has its control tokens behind the ranks, at these offsets.
ControlTokens control_behind(engine::TokenId ranks) {
  return {ranks + 0, ranks + 6, ranks + 7, ranks + 9};
}

}  // namespace

BpeSource read_rank_file(const std::string& text, const std::string& path) {
  RankFile file(path);
  for (std::string_view rest = text; !rest.empty();) {
    const auto line = rest.substr(0, rest.find('\n'));
    file.read(line);
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  const auto tokens = file.finish();
  const auto* pattern = tokens.size() >= kCl100kRanks ? kCl100kPattern : kGpt2Pattern;
  return {BpeVocabulary::from_ranks(tokens),
          {pattern},
          control_behind(static_cast<engine::TokenId>(tokens.size())),
          ""};
}

}  // namespace workload
