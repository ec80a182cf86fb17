#include "sweeps/spec/messages.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace sweep {

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// Insertions, deletions, substitutions and swaps of neighbors that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, substituted});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

/// Small when `word` may be a slip for `candidate`. A bare word is also held against the part
/// behind the last dot.
std::size_t slip(const std::string& word, const std::string& candidate) {
  constexpr std::size_t kTellingPrefix = 3;
  if (word.size() >= kTellingPrefix && candidate.starts_with(word)) return 1;
  const std::size_t whole = edit_distance(word, candidate);
  const std::size_t dot = candidate.rfind('.');
  if (dot == std::string::npos || word.find('.') != std::string::npos) return whole;
  return std::min(whole, edit_distance(word, candidate.substr(dot + 1)));
}

std::string text_of(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : "";
}

}  // namespace

void fail_at(const Location& where, const std::string& message) {
  throw SpecError(to_text(where) + ": " + message);
}

std::string in_quotes(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      result += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string must_be_one_of(const std::vector<Value>& allowed, const Value& found) {
  std::vector<std::string> values, words;
  for (const Value& value : allowed) {
    values.push_back(to_text(value));
    words.push_back(text_of(value));
  }
  const std::string one_of = allowed.size() > 1 ? "must be one of " : "must be ";
  return one_of + joined(values) + ", found " + to_text(found) + suggestion(text_of(found), words);
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = did_you_mean(word, candidates);
  return near.empty() ? "" : " (did you mean " + in_quotes(near) + "?)";
}

std::string listed(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + in_quotes(word);
  return list;
}

std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + separator.size(), text.size()));
  }
  return parts;
}

std::string describe(const Value& value) {
  static constexpr const char* kKinds[] = {"the boolean ", "the integer ", "the float ",
                                           "the string "};
  return kKinds[value.index()] + to_text(value);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string wanted = lower(word);
  std::size_t best = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate == word) continue;
    const std::size_t distance = slip(wanted, lower(candidate));
    if (distance < best) best = distance, nearest = candidate;
  }
  return nearest;
}

}  // namespace sweep
