#include "sweeps/definition/messages.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <ranges>

#include "sweeps/definition/secrets.hpp"

namespace sweep {

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

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

/// "h100-80gb" is h100 and 80gb.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (is_alphanumeric(c)) {
      parts.back() += c;
    } else if (!parts.back().empty()) {
      parts.emplace_back();
    }
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

/// A number is never a slip, nor are one or two letters before it: a100 is another card than h100,
/// 7b another model than 8b. Letters behind a leading number may be: 80 and 80gb.
bool same_number(const std::string& part, const std::string& other) {
  const auto number_at = [](const std::string& text) {
    return std::size_t(std::ranges::find_if(text, is_digit) - text.begin());
  };
  const auto number_of = [&](const std::string& text) {
    const std::string rest = text.substr(number_at(text));
    return rest.substr(0, std::size_t(std::ranges::find_if_not(rest, is_digit) - rest.begin()));
  };
  const std::size_t letters = number_at(part);
  return part == other ||
         (number_of(part) == number_of(other) &&
          edit_distance(std::string_view(part).substr(0, letters),
                        std::string_view(other).substr(0, number_at(other))) <= letters / 4 &&
          (letters == 0 || letters >= 4));
}

bool has_numbers_of(const std::string& word, const std::string& candidate) {
  const std::vector<std::string> others = parts_of(candidate);
  return std::ranges::all_of(parts_of(word), [&](const std::string& part) {
    return std::ranges::none_of(part, is_digit) ||
           std::ranges::any_of(others,
                               [&](const std::string& other) { return same_number(part, other); });
  });
}

/// Whether the candidate has every part of the word, in this order.
bool has_parts_of(const std::string& word, const std::string& candidate) {
  const std::vector<std::string> others = parts_of(candidate);
  auto at = others.begin();
  for (const std::string& part : parts_of(word)) {
    at = std::find(at, others.end(), part);
    if (at++ == others.end()) return false;
  }
  return true;
}

constexpr std::size_t kFar = 1'000'000;

/// How far `candidate` is from what was meant by `word`: 0 where they differ in case and
/// punctuation alone, 1 where the word is its beginning or some of its parts, and twice the edit
/// distance where that is small for the word's length.
std::size_t slip(const std::string& word, const std::string& candidate) {
  constexpr std::size_t kTelling = 3;
  if (!has_numbers_of(word, candidate)) return kFar;
  if (parts_of(word) == parts_of(candidate)) return 0;
  if (word.size() >= kTelling && (candidate.starts_with(word) || has_parts_of(word, candidate)))
    return 1;
  const std::size_t distance = edit_distance(word, candidate);
  return distance <= std::max<std::size_t>(1, (word.size() + 1) / 4) ? 2 * distance : kFar;
}

/// Where only one of the two has a dot, the other is also held against the part behind it.
std::size_t slip_of_key(const std::string& word, const std::string& candidate) {
  const std::size_t whole = slip(word, candidate);
  const std::size_t dot = word.rfind('.') + 1, dot_of_candidate = candidate.rfind('.') + 1;
  if ((dot == 0) == (dot_of_candidate == 0)) return whole;
  return std::min(whole, slip(word.substr(dot), candidate.substr(dot_of_candidate)));
}

/// The candidates nearest to `word`, the shortest first: several only where they are equally near
/// and few, and more than letters were mistyped.
std::vector<std::string> nearest_to(std::string_view word,
                                    const std::vector<std::string>& candidates) {
  const std::string wanted = lower(word);
  std::size_t best = kFar;
  std::vector<std::string> nearest;
  for (const std::string& candidate : candidates) {
    if (wanted.empty() || candidate.empty() || candidate == word) continue;
    const std::size_t distance = slip_of_key(wanted, lower(candidate));
    if (distance < best) nearest.clear();
    if (distance <= best && distance < kFar && std::ranges::count(nearest, candidate) == 0)
      nearest.push_back(candidate);
    best = std::min(best, distance);
  }
  constexpr std::size_t kNamed = 4, kTyped = 2;
  if (nearest.size() > kNamed || best >= kTyped)
    nearest.resize(std::min<std::size_t>(1, nearest.size()));
  std::ranges::stable_sort(nearest, {}, &std::string::size);
  return nearest;
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

std::string shown(const std::string& key, const Value& value) {
  return is_hidden(key, bare_text(value)) ? "what looks like a secret" : to_text(value);
}

std::string must_be_one_of(const std::string& key, const std::vector<Value>& allowed,
                           const Value& found) {
  std::vector<std::string> values, words;
  for (const Value& value : allowed) {
    values.push_back(shown(key, value));
    if (values.back() == to_text(value)) words.push_back(text_of(value));
  }
  return key + (allowed.size() > 1 ? " must be one of " : " must be ") + joined(values) +
         ", found " + shown(key, found) + suggestion(text_of(found), words);
}

std::string values_belong_in_file(const std::string& key, const std::string& values) {
  const bool listed = values.starts_with('[');
  return ": several are an axis of the sweep file, [axes] " + key + " = " +
         (listed ? values : '[' + values + ']');
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string> nearest = nearest_to(word, candidates);
  std::string text;
  for (std::size_t i = 0; i < nearest.size(); ++i)
    text += (i == 0 ? "" : i + 1 < nearest.size() ? ", " : " or ") + in_quotes(nearest[i]);
  return text.empty() ? "" : " (did you mean " + text + "?)";
}

std::string listed(const std::vector<std::string>& words) {
  return joined(words | std::views::transform(in_quotes));
}

bool is_plain_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
  });
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
  const std::string text = shown("", value);
  return kKinds[value.index()] + (text == to_text(value) ? text : "of " + text);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string> nearest = nearest_to(word, candidates);
  return nearest.empty() ? "" : nearest.front();
}

}  // namespace sweep
