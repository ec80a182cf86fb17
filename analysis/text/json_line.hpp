#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace analysis {

/// One line of JSON, written front to back; commas are inserted automatically. The buffer is reused
/// for the next line.
class JsonLine {
 public:
  JsonLine& open(char bracket);   // '{' or '['
  JsonLine& close(char bracket);  // '}' or ']'
  /// A key that needs no escaping.
  JsonLine& key(std::string_view name);
  /// A key that is JSON already, with its quotes.
  JsonLine& raw_key(std::string_view json);

  JsonLine& integer(std::int64_t value);
  /// The shortest text that reads back to the same number; null for NaN and infinities, which JSON
  /// does not have.
  JsonLine& number(double value);
  JsonLine& boolean(bool value);
  JsonLine& text(std::string_view value);
  JsonLine& raw(std::string_view json);
  JsonLine& null() { return raw("null"); }

  std::string_view so_far() const { return text_; }

  /// Writes the line and starts the next. Throws std::system_error when the write fails.
  void end_line(std::ostream& out);

 private:
  void separate();

  std::string text_;
};

/// Throws std::system_error with errno, or EIO, when the stream has failed.
void check_written(const std::ostream& out);

/// Flushes the stream. Throws like check_written().
void flush_checked(std::ostream& out);

}  // namespace analysis
