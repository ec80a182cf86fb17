// What the client of servers costs by itself: 1,000 streams of 50 tokens, one begun each
// millisecond, from a process that answers at once. `-s` shows the figures.
#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "workers/engine/base/clock.hpp"
#include "workers/server/http/loop.hpp"
#include "workers/server/streams.hpp"

namespace {

struct ClientCost {
  std::size_t streams = 0;
  std::size_t token_events = 0;
  std::size_t gaps = 0;                        // between token events of a stream
  double us_per_event = 0;                     // processor time of the client
  double late_median_ms = 0, late_p99_ms = 0;  // sending behind the intended time
};

constexpr int kStreams = 1000, kTokens = 50;  // of each stream

void allow_files() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

void send_all(int fd, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = ::send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) ::_exit(1);
    sent += static_cast<std::size_t>(n);
  }
}

std::string chunk(const std::string& data) {
  char size[16];
  std::snprintf(size, sizeof size, "%zx\r\n", data.size());
  return size + data + "\r\n";
}

std::string event(int token) {
  const std::string id = std::to_string(token);
  return chunk(
      "data: {\"id\":\"cmpl-1\",\"object\":\"text_completion\",\"created\":1,\"model\":\"m\","
      "\"choices\":[{\"index\":0,\"text\":\" word\",\"logprobs\":null,\"finish_reason\":null,"
      "\"stop_reason\":null,\"token_ids\":[" +
      id + "]}]}\n\n");
}

/// Reads all requests, and then sends a token to each stream in turn, each in a write of its own.
[[noreturn]] void serve(int listener) {
  allow_files();
  std::vector<int> streams;
  for (int i = 0; i < kStreams; ++i) {
    streams.push_back(::accept(listener, nullptr, nullptr));
    std::string request(1 << 16, '\0');
    std::size_t size = 0;
    while (request.find("]}", 0) == std::string::npos) {
      const ssize_t n = ::recv(streams.back(), request.data() + size, request.size() - size, 0);
      if (n <= 0) ::_exit(1);
      size += static_cast<std::size_t>(n);
    }
    send_all(streams.back(),
             "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
             "Transfer-Encoding: chunked\r\n\r\n");
  }
  for (int token = 0; token < kTokens; ++token)
    for (const int stream : streams) send_all(stream, event(token));
  for (const int stream : streams) {
    send_all(stream, chunk("data: [DONE]\n\n") + "0\r\n\r\n");
    ::close(stream);
  }
  ::_exit(0);
}

/// A listening socket of this machine, and its port.
std::pair<int, int> listen_somewhere() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool listens = ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                       ::listen(fd, kStreams) == 0 &&
                       ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (!listens) throw std::runtime_error("no port to listen on");
  return {fd, ::ntohs(address.sin_port)};
}

double cpu_s() {
  rusage use{};
  ::getrusage(RUSAGE_THREAD, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

/// Begins the streams, each when it is due, and takes all that comes until the last has ended.
/// Returns how late each began, in seconds and in rising order.
std::vector<double> take_streams(server::HttpLoop& http, server::TurnStreams& streams,
                                 engine::WallClock& clock) {
  const std::vector<engine::TokenId> prompt(200, 7);
  server::TurnCall call;
  call.job_id = "j";
  call.max_tokens = kTokens;
  call.prompt = prompt;
  const auto due = [](int i) { return std::chrono::milliseconds(i); };
  std::vector<double> late_s;
  std::size_t ended = 0;
  for (int next = 0; ended < kStreams;) {
    for (; next < kStreams && due(next) <= clock.now(); ++next) {
      late_s.push_back(engine::to_seconds(clock.now() - due(next)));
      streams.start(call, static_cast<std::uint64_t>(next), clock.now());
    }
    http.run_until(next < kStreams ? engine::Nanos(due(next)) : clock.now() + due(500));
    ended += streams.take_ended().size();
  }
  std::ranges::sort(late_s);
  return late_s;
}

ClientCost measure_client() {
  allow_files();
  const auto [listener, port] = listen_somewhere();
  const pid_t child = ::fork();
  if (child == 0) serve(listener);
  ::close(listener);

  engine::WallClock clock;
  server::HttpLoop http(clock);
  const auto dialect = server::make_dialect(server::Kind::vllm);
  const server::ServerConfig config;
  server::TurnStreams streams(http, *dialect, config, "http://127.0.0.1:" + std::to_string(port));
  const double before_s = cpu_s();
  const std::vector<double> late_s = take_streams(http, streams, clock);
  const double used_s = cpu_s() - before_s;
  ::waitpid(child, nullptr, 0);
  const auto events = static_cast<std::size_t>(streams.token_events());
  return {kStreams,
          events,
          streams.token_gaps_s().size(),
          1e6 * used_s / static_cast<double>(events),
          1e3 * late_s[kStreams / 2],
          1e3 * late_s[kStreams * 99 / 100]};
}

}  // namespace

TEST_CASE("a thousand streams at once end with all their tokens") {
  if (!server::has_http()) SKIP_TEST("built without libcurl");
  const ClientCost cost = measure_client();
  CHECK(cost.streams == 1000);
  CHECK(cost.token_events > 25'000);  // of 50,000 tokens some arrive together
  CHECK(cost.gaps + cost.streams == cost.token_events);
  CHECK(cost.us_per_event > 0);
  CHECK(cost.late_median_ms <= cost.late_p99_ms);
}
