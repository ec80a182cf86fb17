#pragma once
#include <ostream>
#include <string>
#include <string_view>

namespace sweep {

/// A name, of a figure or of a file, or a unit. Equal ones share one text, which lives as long as
/// the process: the cells of a sweep have the same few dozen. Any thread may make one.
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

}  // namespace sweep
