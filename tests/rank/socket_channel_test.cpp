#include "workers/rank/local_channels.hpp"

#include <sys/socket.h>

#include <thread>

#include "tests/support/catch.hpp"
#include "tests/support/socket_ends.hpp"

using namespace worker;
using std::chrono::hours;
using std::chrono::seconds;

namespace {

constexpr int kHere = 0, kThere = 1;

/// The two ends of one connection.
struct Pair {
  SocketChannel driver;
  std::optional<SocketChannel> worker{std::in_place};

  Pair() { support::connect(driver, kHere, *worker, kThere); }
  Received heard_by_driver() {
    for (;;) {
      if (std::optional<Received> received = driver.poll()) return std::move(*received);
      driver.wait(hours(1));
    }
  }
};

}  // namespace

TEST_CASE("messages between processes of one host arrive in order, with their sender") {
  Pair ends;
  ends.worker->send(kHere, Abandoned{{1, 1}});
  ends.worker->send(kHere, Abandoned{{2, 1}});
  const Received first = ends.heard_by_driver();
  CHECK(first.from == kThere);
  CHECK(std::get<Abandoned>(first.message).attempt.cell == 1);
  CHECK(std::get<Abandoned>(ends.heard_by_driver().message).attempt.cell == 2);
  CHECK_FALSE(ends.driver.poll());
}

TEST_CASE("messages of several ends name their sender, and only the end they are for has them") {
  SocketChannel driver, first, second;
  support::connect(driver, 0, first, 1);
  support::connect(driver, 0, second, 2);
  first.send(0, Abandoned{{1, 1}});
  first.send(0, Abandoned{{2, 1}});
  second.send(0, Goodbye{});
  int cell = 0;
  for (int received = 0; received < 3; ++received) {
    const std::optional<Received> one = driver.poll();
    REQUIRE(one);
    if (const auto* abandoned = std::get_if<Abandoned>(&one->message)) {
      CHECK(one->from == 1);
      CHECK(abandoned->attempt.cell == ++cell);
    } else {
      CHECK(std::holds_alternative<Goodbye>(one->message));
      CHECK(one->from == 2);
    }
  }
  CHECK(cell == 2);
  CHECK_FALSE(driver.poll());
  CHECK_FALSE(first.poll());
}

TEST_CASE("waiting ends when a message comes") {
  Pair ends;
  const std::jthread sender([&] { ends.worker->send(kHere, Goodbye{}); });
  ends.driver.wait(hours(1));
  CHECK(ends.driver.poll());
}

TEST_CASE("a message to an end that is not there names it") {
  Pair ends;
  try {
    ends.driver.send(2, Stop{});
    FAIL("not refused");
  } catch (const ChannelError& error) {
    CHECK(error.peer == 2);
  }
}

TEST_CASE("a message larger than a socket holds leaves while the sender waits for it to leave") {
  Pair ends;
  const std::string large(std::size_t{8} << 20, 'x');
  std::jthread sender([&] {
    ends.worker->send(kHere, Done{.attempt = {3, 1}, .result = large});
    CHECK(ends.worker->flush(hours(1)));
  });
  const Received received = ends.heard_by_driver();
  CHECK(std::get<Done>(received.message).result == large);
}

TEST_CASE("a flush whose message is not read gives up in time and keeps it") {
  Pair ends;
  const std::string large(std::size_t{8} << 20, 'x');
  ends.worker->send(kHere, Done{.attempt = {3, 1}, .result = large});
  CHECK_FALSE(ends.worker->flush(std::chrono::milliseconds(1)));
  std::jthread sender([&] { CHECK(ends.worker->flush(hours(1))); });
  CHECK(std::get<Done>(ends.heard_by_driver().message).result == large);
}

TEST_CASE("an end that has gone is named once, after its last message, and cannot be written to") {
  Pair ends;
  ends.worker->send(kHere, Goodbye{});
  ends.worker.reset();
  CHECK(ends.driver.gone().empty());
  CHECK(std::holds_alternative<Goodbye>(ends.heard_by_driver().message));
  CHECK_FALSE(ends.driver.poll());
  CHECK_NOTHROW(ends.driver.send(kThere, Stop{}));
  const std::vector<GoneEnd> gone = ends.driver.gone();
  REQUIRE(gone.size() == 1);
  CHECK(gone.front().number == kThere);
  CHECK(ends.driver.gone().empty());
  CHECK_THROWS_AS(ends.driver.send(kThere, Stop{}), ChannelError);
}

TEST_CASE("a message cut off by the end of its process is not delivered") {
  SocketChannel driver;
  const std::string whole = encode(Abandoned{{1, 1}});
  {
    auto [here, there] = socket_pair();
    driver.connect(kThere, std::move(here));
    REQUIRE(::send(there.get(), whole.data(), whole.size() - 1, 0) ==
            static_cast<ssize_t>(whole.size() - 1));
  }
  CHECK_FALSE(driver.poll());
  CHECK(driver.gone().size() == 1);
}
