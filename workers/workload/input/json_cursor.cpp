#include "workers/workload/input/json_cursor.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "workers/engine/base/errors.hpp"

namespace workload {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kEndsNumber = ",]} \t\r\n";

/// Behind the string that opens at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

}  // namespace

JsonCursor::JsonCursor(std::string_view text, const InputPlace& place)
    : text_(text), place_(place) {
  check_json(text, place);
}

void JsonCursor::blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }

char JsonCursor::next() {
  blanks();
  return at_ < text_.size() ? text_[at_] : '\0';
}

void JsonCursor::expect(char open, const char* what, const char* kind) {
  if (next() != open) refuse_value(what, kind);
  ++at_;
}

bool JsonCursor::closes(char close, bool first) {
  if (next() == close) {
    ++at_;
    return true;
  }
  if (!first) ++at_;  // the comma
  blanks();
  return false;
}

/// The text of the value here, which is left in place.
std::string_view JsonCursor::token() {
  const char first = next();
  if (first == '"') return text_.substr(at_, end_of_string(text_, at_) - at_);
  return text_.substr(at_, std::min(text_.find_first_of(kEndsNumber, at_), text_.size()) - at_);
}

std::string JsonCursor::string_token() {
  const std::string_view quoted = token();
  at_ += quoted.size();
  if (quoted.find('\\') == quoted.npos) return std::string(quoted.substr(1, quoted.size() - 2));
  return nlohmann::json::parse(quoted).get<std::string>();
}

std::string JsonCursor::text(const char* what) {
  if (next() != '"') refuse_value(what, "a string");
  return string_token();
}

std::string JsonCursor::name(const char* what) {
  constexpr std::size_t kLongest = 200;
  const std::size_t begin = (blanks(), at_);
  if (next() == '"') {
    std::string text = string_token();
    if (!text.empty() && text.size() <= kLongest) return text;
  }
  at_ = begin;
  refuse_value(what, "a string of 1 to 200 bytes");
}

std::int64_t JsonCursor::whole(const char* what, std::int64_t low, std::int64_t high) {
  const std::string_view text = token();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high)
    refuse_value(what,
                 "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  at_ += text.size();
  return value;
}

double JsonCursor::number(const char* what, double low, double high) {
  const std::string_view text = token();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() ||
      !(value >= low && value <= high)) {
    std::array<char, 80> allowed{};
    std::snprintf(allowed.data(), allowed.size(), "a number from %g to %g", low, high);
    refuse_value(what, allowed.data());
  }
  at_ += text.size();
  return value;
}

bool JsonCursor::null() {
  if (next() != 'n') return false;
  at_ += 4;
  return true;
}

void JsonCursor::skip() {
  for (int depth = 0;;) {
    const char first = next();
    if (first == '"') {
      at_ = end_of_string(text_, at_);
    } else if (first == '{' || first == '[') {
      ++depth;
      ++at_;
    } else if (first == '}' || first == ']') {
      --depth;
      ++at_;
    } else if (first == ',' || first == ':') {
      ++at_;
    } else {
      at_ += token().size();
    }
    if (depth == 0) return;
  }
}

void JsonCursor::refuse(const std::string& problem, std::size_t at) const {
  throw engine::InputError(place_.file + ":" + std::to_string(place_.line) + ":" +
                           std::to_string(at + 1) + ": " + problem);
}

void JsonCursor::refuse_value(const char* what, const std::string& allowed) {
  constexpr std::size_t kLongestShown = 40;
  const char first = next();
  std::string found(first == '{' ? "an object" : first == '[' ? "a list" : token());
  if (found.size() > kLongestShown) found = found.substr(0, kLongestShown) + "...";
  refuse(std::string(what) + " is " + found + "; allowed: " + allowed, at_);
}

}  // namespace workload
