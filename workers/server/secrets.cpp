#include "workers/server/secrets.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace server {
namespace {

constexpr const char* kReplacement = "(a secret)";
constexpr std::size_t kShortest = 4;  // of what is replaced

/// A value of the header Authorization without a scheme is a key, sent as "Bearer KEY".
std::string with_scheme(std::string name, const std::string& value) {
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  const bool bare = name == "authorization" && value.find(' ') == std::string::npos;
  return bare ? "Bearer " + value : value;
}

}  // namespace

Secrets::Secrets(const Texts& headers, const Texts& environment) : environment_(environment) {
  for (const auto& [name, variable] : headers)
    lines_.push_back(name + ": " + with_scheme(name, taken("server.header." + name, variable)));
  constexpr std::string_view kFrom = "env:";
  for (auto& [name, value] : environment_) {
    if (!value.starts_with(kFrom)) continue;
    value = taken("server.env." + name, value.substr(kFrom.size()));
    secrets_.insert(secrets_.begin(), value);  // ahead of its last word
  }
}

/// Reads the worker's own environment: the driver may run on another node and has not these values.
std::string Secrets::taken(const std::string& key, const std::string& variable) {
  const char* found = std::getenv(variable.c_str());
  const std::string value = found == nullptr ? "" : found;
  if (value.empty())
    throw std::runtime_error(key + ": the environment variable " + variable +
                             " is not set where this worker runs");
  if (std::ranges::any_of(value, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    throw std::runtime_error(key + ": the environment variable " + variable +
                             " holds a line break or another control character");
  secrets_.push_back(value.substr(value.rfind(' ') + 1));  // without a scheme
  return value;
}

std::string Secrets::redacted(std::string text) const {
  for (const std::string& secret : secrets_) {
    if (secret.size() < kShortest) continue;
    for (std::size_t at = 0; (at = text.find(secret, at)) != std::string::npos;)
      text.replace(at, secret.size(), kReplacement);
    for (std::size_t size = secret.size() - 1; size >= kShortest; --size)
      if (text.ends_with(secret.substr(0, size))) {
        text.replace(text.size() - size, size, kReplacement);
        break;
      }
  }
  return text;
}

}  // namespace server
