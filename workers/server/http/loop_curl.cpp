#include <curl/curl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "sweeps/files/durable_file.hpp"
#include "workers/server/http/loop.hpp"

namespace server {
namespace {

using engine::Nanos;

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

struct MultiCloser {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct EasyCloser {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListCloser {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

/// A stream is an open file, and there may be thousands.
void allow_many_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

using Headers = std::unique_ptr<curl_slist, ListCloser>;

Headers headers_of(const std::vector<std::string>& lines) {
  curl_slist* list = nullptr;
  for (const std::string& line : lines) list = curl_slist_append(list, line.c_str());
  return Headers(list);
}

Headers headers_of_posts(std::vector<std::string> lines) {
  lines.emplace_back("Content-Type: application/json");
  lines.emplace_back("Expect:");  // no wait before a large prompt is sent
  return headers_of(lines);
}

/// The value of a header line if it is this one, in small letters; empty for another.
std::string value_of(std::string_view line, std::string_view name) {
  std::string text(line.substr(0, std::min(line.find_last_not_of(" \t\r\n") + 1, line.size())));
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (!text.starts_with(name) || text.size() <= name.size() || text[name.size()] != ':') return {};
  return text.substr(std::min(text.find_first_not_of(" \t", name.size() + 1), text.size()));
}

}  // namespace

/// libcurl's multi interface on an epoll set: the cost of an event does not grow with the number of
/// connections.
class HttpLoop::Curl {
 public:
  Curl(const engine::Clock& clock, const std::vector<std::string>& headers)
      : clock_(clock),
        headers_(headers_of(headers)),
        headers_of_posts_(server::headers_of_posts(headers)),
        epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
        timer_(checked(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
                       "timerfd_create")),
        multi_(curl_multi_init()) {
    allow_many_files();
    watch(timer_.get(), EPOLLIN, EPOLL_CTL_ADD);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, &Curl::on_socket);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, &Curl::on_timer);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
  }
  ~Curl() {
    for (const auto& [id, exchange] : exchanges_)
      curl_multi_remove_handle(multi_.get(), exchange->easy.get());
  }
  Curl(const Curl&) = delete;
  Curl& operator=(const Curl&) = delete;

  Id start(HttpRequest request, HttpHandler& handler) {
    auto exchange = std::make_unique<Exchange>();
    exchange->loop = this;
    exchange->id = ++last_id_;
    exchange->handler = &handler;
    exchange->request = std::move(request);
    set_up(*exchange);
    if (curl_multi_add_handle(multi_.get(), exchange->easy.get()) != CURLM_OK)
      throw std::runtime_error("libcurl refuses a request to " + exchange->request.url);
    const Id id = exchange->id;
    exchanges_.emplace(id, std::move(exchange));
    return id;
  }

  void cancel(Id id) {
    const auto found = exchanges_.find(id);
    if (found == exchanges_.end()) return;
    curl_multi_remove_handle(multi_.get(), found->second->easy.get());
    exchanges_.erase(found);
  }

  Nanos now() const { return clock_.now(); }

  void run_until(Nanos until) {
    set_timer(std::min(until, curl_due_.value_or(until)));
    std::array<epoll_event, 256> events{};
    const int n = ::epoll_wait(epoll_.get(), events.data(), events.size(), -1);
    if (n < 0 && errno != EINTR) checked(n, "epoll_wait");
    int running = 0;
    for (int i = 0; i < n; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.fd == timer_.get()) continue;
      const int mask = ((event.events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                       ((event.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                       ((event.events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
      curl_multi_socket_action(multi_.get(), event.data.fd, mask, &running);
    }
    if (curl_due_ && *curl_due_ <= clock_.now()) {
      curl_due_.reset();
      curl_multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &running);
    }
    end_exchanges();
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  struct Exchange {
    Curl* loop = nullptr;
    Id id = 0;
    HttpHandler* handler = nullptr;
    HttpRequest request;
    std::size_t header_bytes = 0;
    std::string refusal;  // why its answer was not read to the end
    std::unique_ptr<CURL, EasyCloser> easy{curl_easy_init()};
  };

  void set_up(Exchange& exchange) {
    CURL* easy = exchange.easy.get();
    if (easy == nullptr) throw std::bad_alloc();
    curl_easy_setopt(easy, CURLOPT_URL, exchange.request.url.c_str());
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &exchange);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Curl::on_write);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &exchange);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Curl::on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &exchange);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER,
                     (exchange.request.post ? headers_of_posts_ : headers_).get());
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    if (!exchange.request.post) return;
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(exchange.request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, exchange.request.body.data());
  }

  /// Expires at `until`, or at once if that has passed.
  void set_timer(Nanos until) {
    const Nanos left = std::max(Nanos{1}, until - clock_.now());
    itimerspec when{};
    when.it_value.tv_sec = left.count() / 1'000'000'000;
    when.it_value.tv_nsec = left.count() % 1'000'000'000;
    checked(::timerfd_settime(timer_.get(), 0, &when, nullptr), "timerfd_settime");
  }

  void watch(int fd, std::uint32_t events, int operation) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    ::epoll_ctl(epoll_.get(), operation, fd, &event);
  }

  void end_exchanges() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      CURL* easy = message->easy_handle;
      Exchange* exchange = nullptr;
      long status = 0;
      curl_easy_getinfo(easy, CURLINFO_PRIVATE, &exchange);
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      HttpEnd end{static_cast<int>(status), code == CURLE_OK ? "" : curl_easy_strerror(code)};
      if (!exchange->refusal.empty()) end.error = exchange->refusal;
      HttpHandler& handler = *exchange->handler;
      cancel(exchange->id);
      guarded([&] { handler.on_end(end, clock_.now()); });
    }
  }

  /// Exceptions must not pass through libcurl: the first is kept for run_until().
  template <class Work>
  void guarded(Work work) {
    try {
      work();
    } catch (...) {
      if (!thrown_) thrown_ = std::current_exception();
    }
  }

  static std::size_t on_header(char* bytes, std::size_t one, std::size_t size, void* to) {
    auto& exchange = *static_cast<Exchange*>(to);
    const std::string_view line(bytes, one * size);
    exchange.header_bytes += line.size();
    if (exchange.header_bytes > kMostHeaderBytes)
      exchange.refusal = "its headers are longer than 256 KiB";
    const std::string encoding = value_of(line, "content-encoding");
    if (!encoding.empty() && encoding != "identity")
      exchange.refusal = "it is compressed (Content-Encoding: " + encoding.substr(0, 40) +
                         "), which was not asked for";
    return exchange.refusal.empty() ? line.size() : 0;
  }

  static std::size_t on_write(char* bytes, std::size_t one, std::size_t size, void* to) {
    auto& exchange = *static_cast<Exchange*>(to);
    long status = 0;
    curl_easy_getinfo(exchange.easy.get(), CURLINFO_RESPONSE_CODE, &status);
    bool more = false;
    exchange.loop->guarded([&] {
      more = exchange.handler->on_bytes(static_cast<int>(status), {bytes, one * size},
                                        exchange.loop->clock_.now());
    });
    return more ? one * size : 0;
  }

  static int on_socket(CURL*, curl_socket_t fd, int what, void* loop, void* known) {
    auto& self = *static_cast<Curl*>(loop);
    if (what == CURL_POLL_REMOVE) {
      self.watch(fd, 0, EPOLL_CTL_DEL);
      return 0;
    }
    const std::uint32_t events = ((what & CURL_POLL_IN) != 0 ? std::uint32_t{EPOLLIN} : 0) |
                                 ((what & CURL_POLL_OUT) != 0 ? std::uint32_t{EPOLLOUT} : 0);
    self.watch(fd, events, known == nullptr ? EPOLL_CTL_ADD : EPOLL_CTL_MOD);
    if (known == nullptr) curl_multi_assign(self.multi_.get(), fd, &self);
    return 0;
  }

  static int on_timer(CURLM*, long timeout_ms, void* loop) {
    auto& self = *static_cast<Curl*>(loop);
    self.curl_due_.reset();
    if (timeout_ms >= 0) self.curl_due_ = self.clock_.now() + std::chrono::milliseconds(timeout_ms);
    return 0;
  }

  const engine::Clock& clock_;
  Headers headers_, headers_of_posts_;
  sweep::Descriptor epoll_, timer_;
  std::optional<Nanos> curl_due_;
  std::unique_ptr<CURLM, MultiCloser> multi_;
  std::map<Id, std::unique_ptr<Exchange>> exchanges_;
  std::exception_ptr thrown_;
  Id last_id_ = 0;
};

HttpLoop::HttpLoop(const engine::Clock& clock, const std::vector<std::string>& headers)
    : curl_(std::make_unique<Curl>(clock, headers)) {}
HttpLoop::~HttpLoop() = default;
HttpLoop::Id HttpLoop::start(HttpRequest request, HttpHandler& handler) {
  return curl_->start(std::move(request), handler);
}
void HttpLoop::cancel(Id id) { curl_->cancel(id); }
void HttpLoop::run_until(Nanos until) { curl_->run_until(until); }

HttpAnswer HttpLoop::fetch(HttpRequest request, Nanos longest,
                           const std::function<bool()>& gives_up) {
  struct Collect final : HttpHandler {
    HttpAnswer answer;
    bool ended = false;
    bool on_bytes(int status, std::string_view bytes, Nanos) override {
      return answer.add(status, bytes);
    }
    void on_end(const HttpEnd& end, Nanos) override {
      answer.close(end);
      ended = true;
    }
  } collect;
  const Nanos deadline = curl_->now() + longest;
  const Id id = start(std::move(request), collect);
  constexpr Nanos kBetweenLooks = std::chrono::milliseconds(100);
  bool given_up = false;
  while (!collect.ended && !given_up && curl_->now() < deadline) {
    run_until(gives_up ? std::min(deadline, curl_->now() + kBetweenLooks) : deadline);
    given_up = gives_up && gives_up();
  }
  if (collect.ended) return collect.answer;
  cancel(id);
  collect.answer.end.error =
      given_up ? "given up"
               : "no answer within " + std::to_string(longest / std::chrono::seconds(1)) + " s";
  return collect.answer;
}

bool has_http() { return true; }

}  // namespace server
