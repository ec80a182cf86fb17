// What of server.* must not reach an archive.
#include <regex>
#include <string>

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

/// What of a key is a secret by its name; empty: nothing.
std::string secret_by_name(const std::string& name) {
  static const std::regex kEnvironment(
      R"(^env\..*(token|key|secret|password|passwd|credentials?)$)", kAnyCase),
      kRequest(R"(^request\.(.*[._])?(api_?key|secret|password|(auth|access)_token)$)", kAnyCase);
  return holds(name, kEnvironment) || holds(name, kRequest) ? "is the name of a secret" : "";
}

/// What a text holds that is a secret; empty: nothing. Keys of known services are longer than these
/// patterns ask for; a digit or many letters tell them from words.
std::string secret_in(const std::string& name, const std::string& text) {
  static const std::regex kUserInAddress(R"(://[^/\s@]+@)"),
      kQuery(R"([?&][\w-]*(key|token|secret|password|sig)=)", kAnyCase),
      kFlag(
          R"(--[\w-]*(api[-_]?key|password|secret|(auth|access|hf)[-_]token)(\s*$|(=|\s+)["']?[^\s$"'-]))",
          kAnyCase),
      kScheme(R"(\bbearer\s+[^\s$]{4,})", kAnyCase),
      kToken(
          R"((^|[\s"'=:,@])(sk-|hf_|gh[opsu]_|github_pat_|glpat-|xox[abeprs]-|nvapi-|gsk_|AIza|AKIA|eyJ)(?=[\w.-]*\d|[\w.-]{20})[\w.-]{6,})");
  const bool is_address = name == "url" && text.find_first_of("@?#") != std::string::npos;
  if (is_address || holds(text, kUserInAddress) || holds(text, kQuery))
    return "holds an address with a name, a password or a query";
  if (holds(text, kFlag)) return "gives a key or password on the command line";
  return holds(text, kScheme) || holds(text, kToken) ? "holds what looks like a token or a key"
                                                     : "";
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
    const auto* value = std::get_if<std::string>(&param.value);
    const std::string text = value == nullptr ? "" : *value, name = name_in_server(key);
    const std::string where = sweep::to_text(param.where) + ": " + key;
    if (name.starts_with(kHeader)) {
      check_header(where, name.substr(kHeader.size()), text);
      continue;
    }
    const std::string by_name = secret_by_name(name);
    const std::string what = by_name.empty() ? secret_in(name, text) : by_name;
    if (!what.empty())
      throw sweep::SpecError(where + ' ' + what +
                             ", which would stand in every archive (it is not shown here): export "
                             "it where kvsweep starts. A server that is started there inherits "
                             "that environment, and server.header.NAME = \"env:VARIABLE\" sends it "
                             "with each request");
  }
}

}  // namespace worker
