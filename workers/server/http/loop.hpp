#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workers/engine/base/clock.hpp"

namespace server {

struct HttpRequest {
  std::string url;
  std::string body;  // sent as JSON
  bool post = false;
};

/// How an answer ended.
struct HttpEnd {
  int status = 0;     // 0: none came
  std::string error;  // of the connection; empty: the answer is whole
};

/// Receives an answer piece by piece.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// False: no more is wanted. The exchange ends at once, with an error.
  virtual bool on_bytes(int status, std::string_view bytes, engine::Nanos at) = 0;
  virtual void on_end(const HttpEnd& end, engine::Nanos at) = 0;
};

/// An answer that is kept whole, up to a limit.
struct HttpAnswer {
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  static constexpr std::size_t kMostErrorBytes = std::size_t{64} << 10;  // where it is not 200

  HttpEnd end;
  std::string body;

  /// Adds a piece of the body. False: it is longer than the limit, and cut there.
  bool add(int status, std::string_view bytes);
  void close(const HttpEnd& with);
  bool ok() const { return end.error.empty() && end.status == 200; }
  /// For people: "HTTP 503: Loading model", "Connection refused".
  std::string problem() const;

 private:
  bool cut_ = false;
};

/// Any number of requests over HTTP at once, on one thread. Each has a connection of its own, since
/// tool calls outlive what servers keep alive. Proxies of the environment are not used. Headers of
/// an answer above kMostHeaderBytes end it, and so does a compressed body.
class HttpLoop {
 public:
  using Id = std::uint64_t;

  static constexpr std::size_t kMostHeaderBytes = std::size_t{256} << 10;

  /// `clock` gives the times of what is received, and must outlive the loop. `headers`: lines
  /// "Name: value" of every request.
  explicit HttpLoop(const engine::Clock& clock, const std::vector<std::string>& headers = {});
  ~HttpLoop();
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  /// The handler must live until its on_end(), or until cancel().
  Id start(HttpRequest request, HttpHandler& handler);
  /// Closes the connection of a request that has not ended.
  void cancel(Id id);
  /// Waits until `until` or, if that comes first, handles what has happened on the connections.
  /// Rethrows what a handler throws.
  void run_until(engine::Nanos until);
  /// One request from start to end, for at most `longest`; others go on meanwhile. Where
  /// `gives_up` is given and becomes true, the answer ends there, with an error.
  HttpAnswer fetch(HttpRequest request, engine::Nanos longest,
                   const std::function<bool()>& gives_up = {});

 private:
  class Curl;
  std::unique_ptr<Curl> curl_;
};

/// Whether this program can speak HTTP: it was built with libcurl.
bool has_http();

}  // namespace server
