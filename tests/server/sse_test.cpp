#include <cmath>
#include <random>
#include <vector>

#include "tests/support/catch.hpp"
#include "workers/server/http/bodies.hpp"
#include "workers/server/http/loop.hpp"

namespace {

using Events = std::vector<std::string>;

/// What a stream holds when it arrives in parts of these sizes; the last one repeats.
Events events_of(std::string_view stream, const std::vector<std::size_t>& sizes) {
  Events events;
  server::SseParser parser;
  for (std::size_t part = 0; !stream.empty(); ++part) {
    const std::size_t size = std::min(sizes[std::min(part, sizes.size() - 1)], stream.size());
    parser.feed(stream.substr(0, size), [&](std::string_view data) { events.emplace_back(data); });
    stream.remove_prefix(size);
  }
  return events;
}

Events whole(std::string_view stream) { return events_of(stream, {stream.size() + 1}); }

const std::string kStream =
    ": ping\n\ndata: {\"text\":\"\xc3\xa9\"}\n\nevent: x\r\nid: 1\r\ndata:two\r\ndata:  "
    "lines\r\n\r\ndata\r\rdata: last\n\ndata: cut off";

}  // namespace

TEST_CASE("an event is the lines of data before an empty line, without comments and other fields") {
  CHECK(whole(kStream) == Events{"{\"text\":\"\xc3\xa9\"}", "two\n lines", "", "last"});
  CHECK(whole("").empty());
  CHECK(whole("\n\n\n").empty());
  CHECK(whole("data: x\n").empty());
}

TEST_CASE("a stream holds the same events wherever its bytes are split") {
  const Events expected = whole(kStream);
  CHECK(events_of(kStream, {1}) == expected);
  for (std::size_t first = 1; first < kStream.size(); ++first)
    for (std::size_t second = 1; second < 6; ++second)
      REQUIRE(events_of(kStream, {first, second, kStream.size()}) == expected);
}

TEST_CASE("streams of random lines hold the same events wherever they are split") {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return std::size_t{random()} % n; };
  const std::vector<std::string> pieces = {
      "data:", "data: ", ":",  "x",     "\xf0\x9f\x98\x80", "\n",
      "\n\n",  "\r\n",   "\r", "id: 4", "{\"a\":[1,2]}"};
  for (int round = 0; round < 2000; ++round) {
    std::string stream;
    for (std::size_t i = 0, n = below(24); i < n; ++i) stream += pieces[below(pieces.size())];
    std::vector<std::size_t> sizes;
    for (int i = 0; i < 8; ++i) sizes.push_back(1 + below(9));
    INFO(stream);
    REQUIRE(events_of(stream, sizes) == whole(stream));
  }
}

TEST_CASE("an event of the type error is the server's report of one") {
  CHECK_THROWS_WITH(whole("data: a\n\nevent: error\ndata: {\"message\":\"boom\"}\n\n"),
                    "it reports an error: {\"message\":\"boom\"}");
  CHECK(whole("event: error\nevent: message\ndata: a\n\n") == Events{"a"});
}

TEST_CASE("what a server sent is shown cut, and without control characters") {
  CHECK(server::shown("a\nb\x1b[31m\x7f\xc3\xa9") == "a\\nb\\x1b[31m\\x7f\xc3\xa9");
  CHECK(server::shown("ab\xc3\xa9", 3) == "ab...");
  CHECK(server::shown("abcd", 3) == "abc...");
}

TEST_CASE("a byte order mark in front of a stream is no part of its first line") {
  const std::string mark = "\xef\xbb\xbf";
  for (const std::size_t part : {1, 2, 3, 4, 100})
    CHECK(events_of(mark + "data: a\n\ndata: b\n\n", {part}) == Events{"a", "b"});
  CHECK(events_of(mark.substr(0, 2) + "data: a\n\ndata: b\n\n", {1}) == Events{"b"});
}

TEST_CASE("what a server answers is kept up to a limit, errors up to a smaller one") {
  const std::string part(std::size_t{1} << 20, 'x');
  server::HttpAnswer page, error;
  int pages = 0;
  while (page.add(200, part)) ++pages;
  CHECK(pages == 16);
  CHECK_FALSE(error.add(500, part));
  page.close({200, "stopped"});
  error.close({500, "stopped"});
  CHECK(page.problem() == "its answer stopped after 16777216 bytes: it is longer than 16 MiB");
  CHECK(error.body.size() == server::HttpAnswer::kMostErrorBytes);
  CHECK(error.problem() == "HTTP 500: " + std::string(300, 'x') + "...");
}

TEST_CASE("an event without an end is refused before it fills the memory") {
  server::SseParser parser;
  const std::string part(std::size_t{1} << 20, 'x');
  const auto feed = [&] {
    for (int i = 0; i < 20; ++i) parser.feed(part, [](std::string_view) {});
  };
  CHECK_THROWS_AS(feed(), server::BadAnswer);
}

TEST_CASE("a metric is the sum of its series, or of those with a label, and NaN without any") {
  const server::MetricsPage page(
      "# HELP vllm:x help\n# TYPE vllm:x counter\nvllm:x_total{engine=\"0\",source=\"a\"} 3\n"
      "vllm:x_total{engine=\"0\",source=\"b\"} 4.5e1\nplain 7\nbroken\nbraces} 1 {\nnone{a=\"b\"} "
      "x\n");
  CHECK(page.sum("vllm:x_total") == 48);
  CHECK(page.sum("vllm:x_total", "source=\"b\"") == 45);
  CHECK(page.sum("plain") == 7);
  CHECK(page.has("plain"));
  CHECK(std::isnan(page.sum("vllm:x_total", "source=\"c\"")));
  CHECK(std::isnan(page.sum("none")));
  CHECK_FALSE(page.has("broken"));
  CHECK(std::isinf(server::MetricsPage("x NaN\n").sum("x")));
}
