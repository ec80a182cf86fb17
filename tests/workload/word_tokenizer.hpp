#pragma once
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "workers/workload/tokenizer/tokenizer.hpp"

namespace support {

/// A tokenizer with counts that are visible in the text: a word with the blank before it is one
/// token, a run of line ends is one, any other byte is one. Remembers what it encoded, so that
/// tokens can be decoded.
class WordTokenizer final : public workload::Tokenizer {
 public:
  void encode(std::string_view text, std::vector<engine::TokenId>& ids,
              std::vector<std::uint32_t>* bytes = nullptr) const override {
    while (!text.empty()) {
      const std::size_t length = token_length(text);
      const auto fresh = static_cast<engine::TokenId>(100 + ids_.size());
      const auto [entry, added] = ids_.try_emplace(std::string(text.substr(0, length)), fresh);
      if (added) texts_[fresh] = entry->first;
      ids.push_back(entry->second);
      if (bytes != nullptr) bytes->push_back(static_cast<std::uint32_t>(length));
      text.remove_prefix(length);
    }
  }
  workload::ControlTokens control() const override { return {1, 2, 3, 4}; }
  std::string name() const override { return "words"; }

  /// Control tokens as <bos>, <h>, </h>, <eot>.
  std::string decode(const std::vector<engine::TokenId>& ids, int begin, int end) const {
    static const std::map<engine::TokenId, std::string> kControl{
        {1, "<bos>"}, {2, "<h>"}, {3, "</h>"}, {4, "<eot>"}};
    std::string text;
    for (int i = begin; i < end; ++i) {
      const engine::TokenId id = ids[static_cast<std::size_t>(i)];
      text += id < 100 ? kControl.at(id) : texts_.at(id);
    }
    return text;
  }

 private:
  static bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }

  static std::size_t token_length(std::string_view text) {
    if (text[0] == '\n') return std::min(text.find_first_not_of('\n'), text.size());
    std::size_t length = text[0] == ' ' ? 1 : 0;
    while (length < text.size() && in_word(text[length])) ++length;
    return std::max<std::size_t>(length, 1);
  }

  mutable std::map<std::string, engine::TokenId> ids_;
  mutable std::map<engine::TokenId, std::string> texts_;
};

}  // namespace support
