// What of server.* must not reach an archive.
#include <regex>
#include <string>

#include "sweeps/definition/secrets.hpp"
#include "workers/binding/server.hpp"

namespace worker {
namespace {

constexpr auto kAnyCase = std::regex::ECMAScript | std::regex::icase;

bool holds(const std::string& text, const std::regex& pattern) {
  return std::regex_search(text, pattern);
}

/// "env.NAME" of "server.env.NAME" and of "server.profile.P.env.NAME".
std::string name_in_server(const std::string& key) {
  static const std::regex kPrefix(R"(^server\.(profile\.[^.]*\.)?)");
  return std::regex_replace(key, kPrefix, "");
}

/// What a key of server.* holds that is a secret, by its name or its value; empty: nothing.
std::string secret_of(const std::string& name, const sweep::Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  const bool is_named = name.starts_with("env.") || name.starts_with("request.");
  if (is_named && sweep::is_secret_name(name.substr(name.find('.') + 1)) &&
      sweep::may_be_secret(text == nullptr ? sweep::to_text(value) : *text))
    return "is the name of a secret";
  if (text == nullptr) return "";
  if (name == "url" && text->find_first_of("@?#") != text->npos)
    return "holds an address with a name, a password or a query";
  return sweep::secret_in(*text);
}

bool names_a_variable(const std::string& text) {
  static const std::regex kVariable("^env:[A-Za-z_][A-Za-z0-9_]*$");
  return holds(text, kVariable);
}

/// Headers that the client itself sends.
bool is_own_header(const std::string& name) {
  static const std::regex kOwn(
      "^(content-(type|length|encoding)|transfer-encoding|host|connection|expect|accept-encoding)$",
      kAnyCase);
  return holds(name, kOwn);
}

void check_header(const std::string& where, const std::string& name, const std::string& text) {
  static const std::regex kName("^[A-Za-z0-9_-]+$");
  if (!holds(name, kName) || is_own_header(name))
    throw sweep::SpecError(where +
                           " must name a header, by letters, digits, - and _, which kvsweep "
                           "does not send itself");
  if (!names_a_variable(text))
    throw sweep::SpecError(where +
                           " must be \"env:VARIABLE\", the environment variable that holds the "
                           "header's value; what was found is not shown");
}

}  // namespace

void refuse_secrets(const sweep::ParamMap& written) {
  constexpr std::string_view kServer = "server.", kHeader = "header.";
  for (const auto& [key, param] : written) {
    if (!key.starts_with(kServer)) continue;
    const std::string name = name_in_server(key);
    const std::string where = sweep::to_text(param.where) + ": " + key;
    if (name.starts_with(kHeader)) {
      const auto* text = std::get_if<std::string>(&param.value);
      check_header(where, name.substr(kHeader.size()), text == nullptr ? "" : *text);
      continue;
    }
    const std::string what = secret_of(name, param.value);
    if (!what.empty())
      throw sweep::SpecError(where + ' ' + what +
                             ", which would stand in every archive (it is not shown here): export "
                             "it where kvsweep starts. A server that is started there inherits "
                             "that environment, and server.header.NAME = \"env:VARIABLE\" sends it "
                             "with each request");
  }
}

}  // namespace worker
