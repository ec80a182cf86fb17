#include "workers/workload/tokenizer/pretokenizer.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "workers/engine/base/errors.hpp"

namespace workload {

// Uses possessive quantifiers where backtracking cannot help: they only save time.
const char* const kCl100kPattern =
    R"re('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+)re"
    R"re(| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s*[\r\n]+|\s+(?!\S)|\s+)re";
const char* const kGpt2Pattern =
    R"re('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s+(?!\S)|\s+)re";

namespace {

struct CodeFree {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct MatchFree {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};

std::string pcre2_text(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::unique_ptr<pcre2_code, CodeFree> compile(const std::string& pattern,
                                              const std::string& where) {
  int error = 0;
  PCRE2_SIZE at = 0;
  std::unique_ptr<pcre2_code, CodeFree> code(
      pcre2_compile(units(pattern), pattern.size(), PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr));
  if (!code) {
    throw engine::InputError(where + ": the split pattern does not compile at character " +
                             std::to_string(at) + ": " + pcre2_text(error) + ": " + pattern);
  }
  return code;
}

}  // namespace

class Pretokenizer::Pattern {
 public:
  Pattern(const std::string& pattern, const std::string& where)
      : code_(compile(pattern, where)), where_(where) {
    jit_ = pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE) == 0;
  }

  /// Finds the first match of one byte or more at or after `from`; false when there is none.
  bool match(std::string_view text, std::size_t from, pcre2_match_data* data) const {
    // The interpreter also runs when the stack of the compiled code overflows.
    int found = PCRE2_ERROR_JIT_STACKLIMIT;
    if (jit_) {
      found = pcre2_jit_match(code_.get(), units(text), text.size(), from,
                              PCRE2_NOTEMPTY | PCRE2_NO_UTF_CHECK, data, nullptr);
    }
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
      found = pcre2_match(code_.get(), units(text), text.size(), from,
                          PCRE2_NOTEMPTY | PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data, nullptr);
    }
    if (found >= 0) return true;
    if (found == PCRE2_ERROR_NOMATCH) return false;
    throw engine::InputError(where_ +
                             ": the split pattern cannot be matched: " + pcre2_text(found));
  }

  std::unique_ptr<pcre2_match_data, MatchFree> match_data() const {
    return std::unique_ptr<pcre2_match_data, MatchFree>(
        pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  }

 private:
  std::unique_ptr<pcre2_code, CodeFree> code_;
  std::string where_;
  bool jit_;  // false when PCRE2 was built without JIT
};

/// Splits one stretch of valid UTF-8 by one pattern.
class PieceReader::Stage {
 public:
  explicit Stage(const Pretokenizer::Pattern& pattern)
      : pattern_(&pattern), data_(pattern.match_data()) {}

  void open(std::string_view text) {
    text_ = text;
    at_ = match_begin_ = match_end_ = 0;
  }

  bool next(std::string_view& piece) {
    if (at_ == text_.size()) return false;
    if (at_ == match_end_) find();
    const auto end = at_ < match_begin_ ? match_begin_ : match_end_;
    piece = text_.substr(at_, end - at_);
    at_ = end;
    return true;
  }

 private:
  void find() {
    match_begin_ = match_end_ = text_.size();
    if (!pattern_->match(text_, at_, data_.get())) return;
    const auto* bounds = pcre2_get_ovector_pointer(data_.get());
    match_begin_ = bounds[0];
    match_end_ = bounds[1];
  }

  const Pretokenizer::Pattern* pattern_;
  std::unique_ptr<pcre2_match_data, MatchFree> data_;
  std::string_view text_;
  std::size_t at_ = 0;  // at_ <= match_begin_, or match_begin_ < at_ == match_end_
  std::size_t match_begin_ = 0;
  std::size_t match_end_ = 0;
};

Pretokenizer::Pretokenizer(const std::vector<std::string>& patterns, const std::string& where) {
  for (const auto& pattern : patterns) patterns_.emplace_back(pattern, where);
}
Pretokenizer::~Pretokenizer() = default;
Pretokenizer::Pretokenizer(Pretokenizer&&) noexcept = default;

PieceReader::PieceReader(const Pretokenizer& pretokenizer, std::string_view text) : rest_(text) {
  stages_.reserve(pretokenizer.patterns_.size());
  for (const auto& pattern : pretokenizer.patterns_) stages_.emplace_back(pattern);
}
PieceReader::~PieceReader() = default;

bool PieceReader::next(std::string_view& piece) {
  while (!next_of(stages_.size() - 1, piece)) {
    if (rest_.empty()) return false;
    const auto valid = valid_utf8_prefix(rest_);
    if (valid > 0) {
      stages_.front().open(rest_.substr(0, valid));
      rest_.remove_prefix(valid);
    } else {  // patterns see valid text only
      piece = rest_.substr(0, 1);
      rest_.remove_prefix(1);
      return true;
    }
  }
  return true;
}

/// The next piece that the pattern at `stage` cuts from the pieces of the previous stage.
bool PieceReader::next_of(std::size_t stage, std::string_view& piece) {
  while (!stages_[stage].next(piece)) {
    std::string_view whole;
    if (stage == 0 || !next_of(stage - 1, whole)) return false;
    stages_[stage].open(whole);
  }
  return true;
}

}  // namespace workload
