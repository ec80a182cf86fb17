#include "workers/server/secret_headers.hpp"

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

SecretHeaders::SecretHeaders(const std::map<std::string, std::string>& variables) {
  for (const auto& [name, variable] : variables) {
    const char* found = std::getenv(variable.c_str());
    const std::string value = found == nullptr ? "" : found, what = "server.header." + name;
    if (value.empty())
      throw std::runtime_error(what + ": the environment variable " + variable +
                               " is not set where this worker runs");
    if (std::ranges::any_of(value, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      throw std::runtime_error(what + ": the environment variable " + variable +
                               " holds a line break or another control character");
    lines_.push_back(name + ": " + with_scheme(name, value));
    secrets_.push_back(value.substr(value.rfind(' ') + 1));  // without a scheme
  }
}

std::string SecretHeaders::redacted(std::string text) const {
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
