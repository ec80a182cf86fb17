#pragma once
#include <array>
#include <charconv>
#include <string>

namespace backends {

/// Builds "kind key=value key=value ...": numbers in the shortest form that reads back exactly.
class ConstantsText {
 public:
  explicit ConstantsText(std::string kind) : text_(std::move(kind)) {}

  template <class Number>
  ConstantsText& add(const char* key, Number value) {
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text_.append(" ").append(key).append("=").append(digits.data(), end);
    return *this;
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace backends
