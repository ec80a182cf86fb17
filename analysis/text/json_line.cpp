#include "analysis/text/json_line.hpp"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <ostream>
#include <system_error>

#include "analysis/text/escape.hpp"

namespace analysis {

/// Inserts a comma if a value precedes. Strings end with a quote and numbers with a digit, so the
/// last byte tells.
void JsonLine::separate() {
  if (text_.empty()) return;
  const char last = text_.back();
  if (last != '{' && last != '[' && last != ':') text_ += ',';
}

JsonLine& JsonLine::open(char bracket) {
  separate();
  text_ += bracket;
  return *this;
}

JsonLine& JsonLine::close(char bracket) {
  text_ += bracket;
  return *this;
}

JsonLine& JsonLine::key(std::string_view name) {
  separate();
  text_ += '"';
  text_ += name;
  text_ += "\":";
  return *this;
}

JsonLine& JsonLine::raw_key(std::string_view json) {
  separate();
  text_ += json;
  text_ += ':';
  return *this;
}

JsonLine& JsonLine::integer(std::int64_t value) {
  char buffer[24];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return raw({buffer, end});
}

JsonLine& JsonLine::number(double value) {
  if (!std::isfinite(value)) return null();
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return raw({buffer, end});
}

JsonLine& JsonLine::boolean(bool value) { return raw(value ? "true" : "false"); }

JsonLine& JsonLine::text(std::string_view value) {
  separate();
  append_json_string(text_, value);
  return *this;
}

JsonLine& JsonLine::raw(std::string_view json) {
  separate();
  text_ += json;
  return *this;
}

void JsonLine::end_line(std::ostream& out) {
  text_ += '\n';
  errno = 0;
  out.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  text_.clear();
  check_written(out);
}

void check_written(const std::ostream& out) {
  if (out) return;
  throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), "writing");
}

void flush_checked(std::ostream& out) {
  errno = 0;
  out.flush();
  check_written(out);
}

}  // namespace analysis
