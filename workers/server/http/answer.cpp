#include "workers/server/http/loop.hpp"

namespace server {

std::string HttpAnswer::problem() const {
  constexpr std::size_t kMost = 300;
  if (!end.error.empty() && end.status == 0) return end.error;
  if (!end.error.empty())
    return "its answer stopped after " + std::to_string(body.size()) + " bytes: " + end.error;
  std::string text = "HTTP " + std::to_string(end.status);
  if (!body.empty()) text += ": " + body.substr(0, kMost);
  return text;
}

}  // namespace server
