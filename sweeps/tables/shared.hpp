#pragma once
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

namespace sweep {

/// A name or a unit. Equal ones share one text, which lives as long as the process: the cells of a
/// sweep have the same few dozen names. Any thread may make one.
class SharedName {
 public:
  SharedName() : SharedName(std::string_view()) {}
  SharedName(std::string_view name);
  SharedName(const std::string& name) : SharedName(std::string_view(name)) {}
  SharedName(const char* name) : SharedName(std::string_view(name)) {}

  const std::string& text() const { return *text_; }
  operator const std::string&() const { return *text_; }
  operator std::string_view() const { return *text_; }

  friend bool operator==(SharedName a, SharedName b) { return a.text_ == b.text_; }
  friend bool operator==(SharedName a, std::string_view b) { return *a.text_ == b; }
  friend bool operator==(SharedName a, const std::string& b) { return *a.text_ == b; }
  friend bool operator==(SharedName a, const char* b) { return *a.text_ == b; }
  /// By the alphabet.
  friend bool operator<(SharedName a, SharedName b) { return *a.text_ < *b.text_; }
  friend std::ostream& operator<<(std::ostream& out, SharedName name) { return out << *name.text_; }

 private:
  const std::string* text_;
};

/// A text of which only the part that differs from the one before it is kept: the identities of
/// neighbors in a plan differ in a few bytes of a thousand.
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
