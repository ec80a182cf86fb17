#include "sweeps/definition/secrets.hpp"

#include <algorithm>
#include <cctype>
#include <span>
#include <vector>

#include "sweeps/definition/messages.hpp"

namespace sweep {
namespace {

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_in_name(char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; }

/// How many characters in front are such.
std::size_t length_of(std::string_view text, bool (*is)(char)) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is) - text.begin());
}

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

/// The words of a name, in small letters, without numbers behind them.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : lower(name)) {
    if (is_alphanumeric(c))
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  while (!words.empty() && std::ranges::all_of(words.back(), is_digit)) words.pop_back();
  return words;
}

/// Last words that say where a secret is, or something else about it.
constexpr std::string_view kTells[] = {
    "file",  "filename", "path",  "dir",    "directory", "folder", "name",     "env",    "var",
    "url",   "uri",      "type",  "id",     "ids",       "length", "len",      "size",   "count",
    "limit", "format",   "field", "header", "parser",    "policy", "required", "enabled"};

/// Words before a key of data.
constexpr std::string_view kOfData[] = {
    "cache",  "sort", "group", "job",   "routing", "partition", "primary", "foreign", "public",
    "lookup", "hash", "index", "block", "kv",      "prefix",    "shard",   "session", "affinity"};

/// Words before a token of text, or before a flag that says whether there is one.
constexpr std::string_view kOfText[] = {
    "bos",   "eos",   "pad",     "unk",   "sep",  "cls",    "mask",  "stop", "start",
    "end",   "image", "audio",   "video", "last", "first",  "input", "max",  "min",
    "draft", "think", "special", "next",  "per",  "prompt", "output"};

constexpr std::string_view kSwitches[] = {"enable", "disable", "no", "use", "require", "skip"};

/// Long enough for a random text that has letters alone, or a digit.
bool is_random(std::string_view text, std::size_t with_digit) {
  constexpr std::size_t kLong = 20;
  return text.size() >= kLong || (text.size() >= with_digit && std::ranges::any_of(text, is_digit));
}

/// Whether something other than a letter stands before a place.
bool begins_word(std::string_view text, std::size_t at) {
  return at == 0 || !(is_in_name(text[at - 1]) || text[at - 1] == '/');
}

/// Keys of known services are longer than is asked for here; a digit or many letters tell them from
/// words, and in paths, where names of folders have parts, more of both.
bool holds_token(std::string_view text) {
  constexpr std::string_view kBegins[] = {"sk-",    "hf_",         "ghp_",   "gho_",  "ghs_",
                                          "ghu_",   "github_pat_", "glpat-", "xoxa-", "xoxb-",
                                          "xoxe-",  "xoxp-",       "xoxr-",  "xoxs-", "gsk_",
                                          "nvapi-", "AIza",        "AKIA",   "eyJ"};
  constexpr std::size_t kShort = 6, kShortInPath = 12;
  for (const std::string_view begin : kBegins)
    for (std::size_t at = 0; (at = text.find(begin, at)) != text.npos; at += begin.size()) {
      const bool in_path = at > 0 && text[at - 1] == '/';
      if (!in_path && !begins_word(text, at)) continue;
      std::string_view run = text.substr(at + begin.size());
      run = run.substr(0, length_of(run, is_in_name));
      if (!in_path && is_random(run, kShort)) return true;
      while (in_path && !run.empty()) {
        const std::size_t part = length_of(run, is_alphanumeric);
        if (is_random(run.substr(0, part), kShortInPath)) return true;
        run.remove_prefix(std::min(part + 1, run.size()));
      }
    }
  return false;
}

/// "://user:password@"
bool holds_user(std::string_view text) {
  constexpr std::string_view kBegin = "://";
  for (std::size_t at = 0; (at = text.find(kBegin, at)) != text.npos;) {
    at += kBegin.size();
    const std::size_t end = text.find_first_of("/@ \t\r\n", at);
    if (end != text.npos && end > at && text[end] == '@') return true;
  }
  return false;
}

/// A name in a text with the value behind it: NAME=value, "NAME": "value", --name value,
/// Bearer value.
struct Named {
  std::string_view name, value;
  char before = 0;     // the character in front of the name
  char separator = 0;  // = or :, a blank behind a flag or "Bearer", 0 behind a flag without a value
};

/// "user:password", and not the numbers of a user and a group, nor an address.
bool is_login(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon == 0 || colon + 1 == text.size()) return false;
  const std::string_view password = text.substr(colon + 1);
  return !password.starts_with("//") && may_be_secret(password) &&
         !std::ranges::all_of(password, is_digit);
}

bool is_secret(const Named& found) {
  constexpr std::string_view kLogins[] = {"-u", "-U", "--user", "--proxy-user", "--basic-auth"};
  const bool in_query = found.before == '?' || found.before == '&';
  if (is_one_of(found.name, kLogins)) return is_login(found.value);
  if (found.name.starts_with("-u") && found.separator == ':')
    return is_login(std::string(found.name.substr(2)) + ':' + std::string(found.value));
  const std::string_view name =
      found.name.substr(std::min(found.name.find_first_not_of("-."), found.name.size()));
  if (!in_query && lower(name) == "key") return false;  // as of a map
  return (is_secret_name(name) || (in_query && name == "sig")) &&
         (found.separator == 0 || may_be_secret(found.value));
}

/// What the names in a text, each with its value, hold that is a secret.
std::string secret_of_names(std::string_view text) {
  const auto skip = [&](std::size_t at, auto is) {
    while (at < text.size() && is(text[at])) ++at;
    return at;
  };
  constexpr std::size_t kLongestValue = 256;  // more of it tells no more
  const auto is_quote = [](char c) { return c == '"' || c == '\''; };
  for (std::size_t at = 0, end = 0; at < text.size(); at = std::max(end, at + 1)) {
    end = skip(at, is_in_name);
    if (end == at) continue;
    Named found{text.substr(at, end - at), {}, at == 0 ? '\0' : text[at - 1]};
    std::size_t next = end < text.size() && is_quote(text[end]) ? end + 1 : end;
    const std::size_t behind = skip(next, is_blank);
    if (behind < text.size() && (text[behind] == '=' || text[behind] == ':'))
      found.separator = text[behind];
    else if ((found.name.starts_with('-') || lower(found.name) == "bearer") && behind > next &&
             behind < text.size())
      found.separator = ' ';
    else if (!found.name.starts_with('-') || behind < text.size())
      continue;
    const bool is_flag = found.separator == ' ';
    next = skip(skip(found.separator == 0 || is_flag ? behind : behind + 1, is_blank), is_quote);
    found.value = text.substr(next, kLongestValue);
    found.value =
        found.value.substr(0, found.value.find_first_of(is_flag ? " \t\r\n\"'" : " \t\r\n\"',;&"));
    if ((is_flag && found.value.starts_with('-')) || !is_secret(found)) continue;
    return found.before == '?' || found.before == '&'
               ? "holds an address with a name, a password or a query"
               : "gives a key or password";
  }
  return {};
}

}  // namespace

bool is_secret_name(std::string_view name) {
  const std::vector<std::string> words = words_of(name);
  if (words.empty()) return false;
  std::string joined = "_";
  for (const std::string& word : words) joined += word + '_';
  const std::string_view last = words.back();
  const std::string_view before = words.size() > 1 ? std::string_view(words.end()[-2]) : "";
  const auto holds = [&](std::string_view part) { return joined.find(part) != joined.npos; };
  if (holds("access_key_id_")) return true;
  constexpr std::string_view kTelling[] = {
      "apikey",    "api_key_",   "accesskey",     "access_key_", "private_key_", "secret",
      "password",  "passwd",     "passphrase",    "pgpass_",     "credential",   "authorization",
      "hf_token_", "auth_token", "access_token_", "authtoken",   "bearer_",      "cookie_"};
  if (!is_one_of(last, kTells) && std::ranges::any_of(kTelling, holds)) return true;
  if (last == "pwd") return words.size() > 1;  // alone it is the working folder
  constexpr std::string_view kLast[] = {"key", "auth", "pass", "pw"};
  if (is_one_of(before, kSwitches)) return false;
  if (last.ends_with("token")) return !is_one_of(before, kOfText);
  return is_one_of(last, kLast) && !is_one_of(before, kOfData);
}

bool may_be_secret(std::string_view value) {
  constexpr std::string_view kWords[] = {"true", "false", "yes", "no", "on", "off", "none", "null"};
  constexpr std::size_t kDigits = 4;
  const bool is_small = value.size() <= kDigits && std::ranges::all_of(value, is_digit);
  const bool is_placeholder = value.starts_with('{') &&
                              std::min(value.find('}'), value.size()) + 1 == value.size() &&
                              value.find('"') == value.npos;
  return !is_small && !is_placeholder && !value.starts_with('$') &&
         !is_one_of(lower(value), kWords);
}

std::string secret_in(std::string_view text) {
  if (holds_user(text)) return "holds an address with a name, a password or a query";
  if (std::string found = secret_of_names(text); !found.empty()) return found;
  return holds_token(text) ? "holds what looks like a token or a key" : "";
}

}  // namespace sweep
