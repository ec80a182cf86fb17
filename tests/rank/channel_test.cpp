#include "workers/rank/channel.hpp"

#include <thread>

#include "tests/support/catch.hpp"
#include "workers/rank/local_channels.hpp"

using namespace worker;

TEST_CASE("messages arrive in the order they were sent, with their sender") {
  LoopbackHub hub(3);
  hub.end(1).send(0, Abandoned{{1, 1}});
  hub.end(1).send(0, Abandoned{{2, 1}});
  hub.end(2).send(0, Goodbye{});
  const auto first = hub.end(0).poll();
  const auto second = hub.end(0).poll();
  const auto third = hub.end(0).poll();
  REQUIRE((first && second && third));
  CHECK(first->from == 1);
  CHECK(std::get<Abandoned>(first->message).attempt.cell == 1);
  CHECK(std::get<Abandoned>(second->message).attempt.cell == 2);
  CHECK(third->from == 2);
  CHECK_FALSE(hub.end(0).poll());
  CHECK_FALSE(hub.end(1).poll());
}

TEST_CASE("a message to an end that is not there names it") {
  LoopbackHub hub(2);
  try {
    hub.end(0).send(2, Stop{});
    FAIL("not refused");
  } catch (const ChannelError& error) {
    CHECK(error.peer == 2);
  }
}

TEST_CASE("waiting ends when a message comes") {
  LoopbackHub hub(2);
  const std::jthread sender([&] { hub.end(1).send(0, Goodbye{}); });
  hub.end(0).wait(std::chrono::hours(1));
  CHECK(hub.end(0).poll());
}
