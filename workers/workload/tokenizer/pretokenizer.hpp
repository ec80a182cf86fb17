#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace workload {

/// The pattern of cl100k_base. Llama 3's pattern splits every text the same way.
extern const char* const kCl100kPattern;
/// The pattern of GPT-2 and r50k_base, also used by a ByteLevel pre-tokenizer.
extern const char* const kGpt2Pattern;

/// Splits text into pieces that are merged independently. Each pattern splits the pieces of the
/// previous one. Text that a pattern does not match is a piece too, so the pieces always add up to
/// the text.
class Pretokenizer {
 public:
  /// At least one pattern. Throws engine::InputError, which begins with `where`, for a pattern that
  /// does not compile.
  Pretokenizer(const std::vector<std::string>& patterns, const std::string& where);
  ~Pretokenizer();
  Pretokenizer(Pretokenizer&&) noexcept;

 private:
  friend class PieceReader;
  class Pattern;
  std::vector<Pattern> patterns_;
};

/// Reads the pieces of one text in order. A byte that is not part of valid UTF-8 is a piece of its
/// own.
class PieceReader {
 public:
  PieceReader(const Pretokenizer& pretokenizer, std::string_view text);
  ~PieceReader();
  /// False at the end of the text.
  bool next(std::string_view& piece);

 private:
  class Stage;
  bool next_of(std::size_t stage, std::string_view& piece);

  std::string_view rest_;  // text not yet passed to the first stage
  std::vector<Stage> stages_;
};

/// Length of the longest prefix of `text` that is valid UTF-8.
std::size_t valid_utf8_prefix(std::string_view text);

}  // namespace workload
