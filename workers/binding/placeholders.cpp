#include "workers/binding/placeholders.hpp"

#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

namespace worker {
namespace {

bool is_name(std::string_view text) {
  constexpr std::string_view kIn = "abcdefghijklmnopqrstuvwxyz0123456789_.:";
  return !text.empty() && text.front() >= 'a' && text.front() <= 'z' &&
         text.find_first_not_of(kIn) == std::string_view::npos;
}

/// `text` with replace(name) in place of each {name}.
std::string with_names(std::string_view text,
                       const std::function<std::string(std::string_view)>& replace) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string_view::npos;
    const std::string_view name =
        end == std::string_view::npos ? "" : text.substr(at + 1, end - at - 1);
    if (!is_name(name)) {
      result += text[at++];
      continue;
    }
    result += replace(name);
    at = end + 1;
  }
  return result;
}

std::pair<std::string, std::string> name_and_unit(std::string_view written) {
  const std::size_t colon = written.find(':');
  if (colon == std::string_view::npos) return {std::string(written), ""};
  return {std::string(written.substr(0, colon)), std::string(written.substr(colon + 1))};
}

/// Converts GiB to another unit; NaN for a unit that does not exist.
double converted(double gib, const std::string& unit) {
  if (unit.empty() || unit == "gib") return gib;
  if (unit == "mib") return gib * 1024;
  if (unit == "bytes") return gib * 0x1p30;
  if (unit == "gb") return gib * 0x1p30 / 1e9;
  return std::nan("");
}

/// A whole number where it is one.
sweep::Value shortest(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  return value;
}

const Key& row_of(const std::string& name) {
  const KeyTable& table = sweep_keys();
  const std::size_t number = table.number_of(name);
  const Key* counts = table.counting(number, [](std::size_t) { return nullptr; });
  return counts != nullptr ? *counts : table.first_row(number);
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_path(const std::string& word) {
  return word.starts_with('/') || word.starts_with("./") || word.starts_with("../") ||
         word.starts_with("~/");
}

}  // namespace

std::vector<std::string> placeholders_in(std::string_view text) {
  std::vector<std::string> names;
  with_names(text, [&](std::string_view written) {
    names.push_back(name_and_unit(written).first);
    return "";
  });
  return names;
}

std::string Placeholders::filled(const std::string& key, const std::string& text) {
  return replaced(key, text, true);
}

sweep::Value Placeholders::typed(const std::string& key, const std::string& text) {
  const std::vector<std::string> names = placeholders_in(text);
  const bool whole = names.size() == 1 && text.rfind('{') == 0 && text.find('}') + 1 == text.size();
  if (!whole || kept_.contains(names.front())) return filled(key, text);
  const auto [name, unit] = name_and_unit(std::string_view(text).substr(1, text.size() - 2));
  return value_of(key, name, unit, true);
}

std::string Placeholders::identified(const std::string& key, const std::string& text) {
  return replaced(key, text, false);
}

std::string Placeholders::replaced(const std::string& key, const std::string& text,
                                   bool with_paths) {
  return with_names(text, [&](std::string_view written) {
    const auto [name, unit] = name_and_unit(written);
    if (kept_.contains(name)) return '{' + std::string(written) + '}';
    return sweep::bare_text(value_of(key, name, unit, with_paths));
  });
}

sweep::Value Placeholders::value_of(const std::string& key, const std::string& name,
                                    const std::string& unit, bool with_paths) {
  const std::string what = "has the placeholder {" + name + '}';
  if (name == "model") {
    if (model_.empty())
      in_.fail(key, what + ", so server.model or server.model_file must be given");
    return with_paths || !in_.has("server.model_file") ? model_ : std::string("{model}");
  }
  const KeyTable& table = sweep_keys();
  if (!table.has(name)) {
    std::vector<std::string> known = table.names();
    known.insert(known.end(), kept_.begin(), kept_.end());
    in_.fail(key, what + ", which is no key of a sweep" + sweep::suggestion(name, known) +
                      "; beside keys there are {model}, {" + sweep::joined(kept_, "}, {") + '}');
  }
  used_.insert(name);
  const Key& row = row_of(name);
  if (!in_.has(name) && !row.fallback.value)
    in_.fail(key, what + ", and " + name + " has no value: give it");
  if (row.is_path() && unit.empty()) {
    const std::string path = in_.file_or_folder(name);
    return with_paths ? path : '{' + name + '}';
  }
  const sweep::Value value = in_.value(name);
  const auto* real = std::get_if<double>(&value);
  const bool is_size = real != nullptr && row.unit() == "GiB";
  const double in_unit = is_size ? converted(*real, unit) : std::nan("");
  if (!unit.empty() && std::isnan(in_unit))
    in_.fail(key, "has the placeholder {" + name + ':' + unit +
                      "}; units are for keys in GiB, and there are gib, gb, mib and bytes");
  return real != nullptr ? shortest(is_size ? in_unit : *real) : value;
}

std::vector<std::string> shell_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < text.size();
    if (escapes) {
      word += text[++i];
      in_word = true;
    } else if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) throw std::invalid_argument(std::string("has an open quote ") + quote);
  if (in_word) words.push_back(word);
  return words;
}

std::string without_paths(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const bool path_behind = equals != std::string::npos && is_path(word.substr(equals + 1));
    text += text.empty() ? "" : " ";
    if (is_path(word))
      text += last_part(word);
    else
      text += path_behind ? word.substr(0, equals + 1) + last_part(word) : word;
  }
  return text;
}

}  // namespace worker
