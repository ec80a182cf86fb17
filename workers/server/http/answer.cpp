#include "workers/server/http/bodies.hpp"
#include "workers/server/http/loop.hpp"

namespace server {

bool HttpAnswer::add(int status, std::string_view bytes) {
  const std::size_t most = status == 200 ? kMostBytes : kMostErrorBytes;
  cut_ = bytes.size() > most - body.size();
  body += bytes.substr(0, most - body.size());
  return !cut_;
}

/// The begin of an error's body tells enough.
void HttpAnswer::close(const HttpEnd& with) {
  end = with;
  if (cut_) end.error = end.status == 200 ? "it is longer than 16 MiB" : "";
}

std::string HttpAnswer::problem() const {
  if (!end.error.empty() && end.status == 0) return end.error;
  if (!end.error.empty() && end.status == 200)
    return "its answer stopped after " + std::to_string(body.size()) + " bytes: " + end.error;
  std::string text = "HTTP " + std::to_string(end.status);
  if (!body.empty()) text += ": " + shown(body);
  if (!end.error.empty()) text += " (" + end.error + ')';
  return text;
}

}  // namespace server
