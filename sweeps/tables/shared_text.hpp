#pragma once
#include <memory>
#include <string>

namespace sweep {

/// A text of which only the part that differs from the one before it is kept: the identities of
/// neighbours in a plan differ in a few bytes of a thousand.
class SharedText {
 public:
  SharedText() = default;
  SharedText(const std::string& text) : SharedText(text, nullptr) {}
  /// `before` is the text that most likely resembles this one; null: none does.
  SharedText(const std::string& text, const SharedText* before);
  std::string text() const;
  operator std::string() const { return text(); }

 private:
  std::shared_ptr<const std::string> whole_;  // a text whose ends this one has
  std::size_t head_ = 0, tail_ = 0;           // bytes of it at both ends
  std::string own_;                           // between them
};

}  // namespace sweep
