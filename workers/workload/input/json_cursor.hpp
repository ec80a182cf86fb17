#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "workers/workload/input/json_lines.hpp"

namespace workload {

/// Walks the values of one JSON text from its begin to its end. Errors have file, line and column
/// (in bytes, from 1).
class JsonCursor {
 public:
  /// Throws engine::InputError for a text that sweep::strict_json refuses. `text` must outlive
  /// this.
  JsonCursor(std::string_view text, const InputPlace& place);

  /// Calls each(key) for every member. It must take the value.
  template <class Each>
  void object(const char* what, Each each) {
    expect('{', what, "an object");
    for (bool first = true; !closes('}', first); first = false) {
      const std::string key = string_token();
      blanks();
      ++at_;  // the colon
      each(key);
    }
  }
  /// Calls each() for every element. It must take the value.
  template <class Each>
  void array(const char* what, Each each) {
    expect('[', what, "a list");
    for (bool first = true; !closes(']', first); first = false) each();
  }
  std::string text(const char* what);
  /// Text of 1 to 200 bytes.
  std::string name(const char* what);
  std::int64_t whole(const char* what, std::int64_t low, std::int64_t high);
  double number(const char* what, double low, double high);
  /// Takes a null, if one stands here.
  bool null();
  void skip();

  /// The first character of the value here.
  char next();
  std::size_t at() const { return at_; }
  /// Goes back to a position that at() had.
  void seek(std::size_t at) { at_ = at; }
  /// Throws for the value at a position that at() had; without it, for the one here.
  [[noreturn]] void refuse(const std::string& problem, std::size_t at) const;
  [[noreturn]] void refuse(const std::string& problem) {
    blanks();
    refuse(problem, at_);
  }

 private:
  void blanks();
  void expect(char open, const char* what, const char* kind);
  bool closes(char close, bool first);
  std::string string_token();
  std::string_view token();
  [[noreturn]] void refuse_value(const char* what, const std::string& allowed);

  std::string_view text_;
  const InputPlace& place_;
  std::size_t at_ = 0;
};

}  // namespace workload
