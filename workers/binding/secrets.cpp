// Keeps secrets in server.* out of archives.
#include <regex>
#include <string>

#include "sweeps/definition/secrets.hpp"
#include "workers/binding/server.hpp"

namespace worker {
namespace {

constexpr auto kAnyCase = std::regex::ECMAScript | std::regex::icase;

/// "env.NAME" of "server.env.NAME" and of "server.profile.P.env.NAME".
std::string name_in_server(const std::string& key) {
  static const std::regex kPrefix(R"(^server\.(profile\.[^.]*\.)?)");
  return std::regex_replace(key, kPrefix, "");
}

/// Whether a client may send a header of this name: kvsweep does not send it itself.
bool may_send(const std::string& name) {
  static const std::regex kName("^[A-Za-z0-9_-]+$");
  static const std::regex kOwn(
      "^(content-(type|length|encoding)|transfer-encoding|host|connection|expect|accept-encoding)$",
      kAnyCase);
  return std::regex_match(name, kName) && !std::regex_match(name, kOwn);
}

/// The problem of a value of server.*; empty: none.
std::string complaint(const std::string& name, const std::string& text) {
  static const std::regex kVariable("^env:[A-Za-z_][A-Za-z0-9_]*$");
  constexpr std::string_view kHeader = "header.";
  const bool is_header = name.starts_with(kHeader);
  if (is_header && !may_send(name.substr(kHeader.size())))
    return "must name a header, by letters, digits, - and _, which kvsweep does not send itself";
  const bool is_secret = is_header || (name.starts_with("env.") && sweep::is_secret_name(name));
  if (is_secret && !std::regex_match(text, kVariable))
    return "must be \"env:VARIABLE\", the environment variable of the worker that holds the "
           "value; what was found is not shown";
  if (!is_secret && name.starts_with("env.") && text.starts_with("env:"))
    return "must be the value itself, which counts for what the cell is, unless its name says key, "
           "token, secret or password";
  if (sweep::holds_login(text) || (name == "url" && text.find_first_of("@?#") != text.npos))
    return "holds an address with a name, a password or a query, which would stand in every "
           "archive (it is not shown here); export it where the worker runs, or send a key by "
           "server.header.NAME = \"env:VARIABLE\"";
  return "";
}

}  // namespace

void refuse_secrets(const sweep::ParamMap& written) {
  for (const auto& [key, param] : written) {
    if (!key.starts_with("server.")) continue;
    const auto* text = std::get_if<std::string>(&param.value);
    const std::string what = complaint(name_in_server(key), text == nullptr ? "" : *text);
    if (!what.empty())
      throw sweep::SpecError(sweep::to_text(param.where) + ": " + key + ' ' + what);
  }
}

}  // namespace worker
