#include "tests/policies/requests.hpp"
#include "tests/support/catch.hpp"

namespace {

/// Turns of 20 blocks of 16 tokens, of which some leading ones are cached.
struct LongestPrefix : policy_test::OrderWorld {
  explicit LongestPrefix(int window)
      : OrderWorld({.order = "longest_prefix",
                    .parameters = {{"prefix_window", static_cast<double>(window)}}}) {}

  void wait_with(int cached_tokens, double arrival_s = 0) {
    engine::Request& request = requests.make({.arrival_s = arrival_s});
    request.spec.prompt = tokens;
    for (int i = 0; i < 21; ++i)
      request.own_hashes.push_back({engine::index(request.id), static_cast<std::uint64_t>(i)});
    cache.number_contents(request.contents, request.own_hashes, 21);
    for (int i = 0; i < cached_tokens / 16; ++i)
      cache.insert(request.contents[static_cast<std::size_t>(i)], engine::BlockId{next_block++});
    order->push(request);
  }
  std::string serve_at(double now_s) {
    order->begin_step(engine::from_seconds(now_s), cache);
    return service();
  }

  std::vector<engine::TokenId> tokens = std::vector<engine::TokenId>(336);
  engine::PrefixCache cache{100};
  std::uint32_t next_block = 1;
};

}  // namespace

TEST_CASE("the longest cached prefix is served first, equal ones as they came",
          "[longest_prefix]") {
  LongestPrefix world(16);
  for (const int cached : {0, 320, 32, 320}) world.wait_with(cached);
  CHECK(world.serve_at(1) == "1 3 2 0 ");
  CHECK(world.drain() == "1 3 2 0 ");
}

TEST_CASE("only the head of the queue is ordered by prefix", "[longest_prefix]") {
  LongestPrefix world(2);
  for (const int cached : {0, 320, 32, 320}) world.wait_with(cached);
  CHECK(world.serve_at(1) == "1 0 2 3 ");
}

TEST_CASE("a turn that has waited for a minute precedes longer prefixes", "[longest_prefix]") {
  LongestPrefix world(16);
  world.wait_with(320, 5);
  world.wait_with(0, 1);
  CHECK(world.serve_at(60.9) == "0 1 ");
  CHECK(world.serve_at(61) == "1 0 ");
}

TEST_CASE("a preempted turn returns to the front", "[longest_prefix]") {
  LongestPrefix world(16);
  for (const int cached : {320, 0}) world.wait_with(cached);
  engine::Request& running = *world.order->front();
  world.order->remove(running);
  world.running.push_back(running);
  world.wait_with(320);
  CHECK(world.preempt() == "0");
  CHECK(world.service() == "0 1 2 ");
}
