// For programs built without libcurl.
#include "workers/engine/base/errors.hpp"
#include "workers/server/http/loop.hpp"

namespace server {

class HttpLoop::Curl {};

HttpLoop::HttpLoop(const engine::Clock&, const std::vector<std::string>&) {
  throw engine::InputError("this kvsweep was built without libcurl, which backend server needs");
}
HttpLoop::~HttpLoop() = default;
HttpLoop::Id HttpLoop::start(HttpRequest, HttpHandler&) { return 0; }
void HttpLoop::cancel(Id) {}
void HttpLoop::run_until(engine::Nanos) {}
HttpAnswer HttpLoop::fetch(HttpRequest, engine::Nanos, const std::function<bool()>&) { return {}; }
bool has_http() { return false; }

}  // namespace server
