#include "workers/policies/host_eviction/config.hpp"

#include <deque>
#include <map>

#include "tests/engine/support/host_slots.hpp"
#include "tests/engine/support/tokens.hpp"
#include "tests/support/catch.hpp"
#include "workers/engine/base/block_hash.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/policies/factory.hpp"

using namespace support;
using namespace std::chrono_literals;
using engine::ContentId;
using engine::HostSlot;
using engine::Nanos;
using engine::Request;

namespace {

constexpr int kHostBlock = 4;  // tokens

/// A small host pool whose content is evicted by a rule, and jobs of the given gaps.
struct HostWorld {
  HostWorld(int slots, const std::string& name, std::vector<Nanos> gaps = {})
      : order(policies::make_order({})) {
    policies::HostEvictionConfig config{.order = order.get()};
    config.estimator.truth = [gaps](engine::JobId job, int) { return gaps.at(index(job)); };
    rule = policies::host_evictions().make(name, config);
    if (rule) rule->prepare(slots, 1, kHostBlock);
    pool.emplace(slots, contents, rule.get(), name == "arc");
  }

  /// The job's next turn arrives.
  Request& arrive(int job, const Tokens& prompt, bool last = false) {
    Request& turn = turns.emplace_back();
    turn.spec.job = engine::JobId{static_cast<std::uint32_t>(job)};
    turn.spec.last_turn = last;
    turn.spec.prompt = kept.emplace_back(prompt);
    turn.spec.arrival = now;
    engine::hash_full_blocks(turn, kHostBlock);
    order->push(turn);
    if (rule) rule->on_arrival(turn);
    return turn;
  }
  void run(Request& turn) {
    order->remove(turn);
    if (rule) rule->on_lookup(turn);
    pool->look_up(number(turn.spec.prompt));
  }
  void finish(Request& turn) {
    turn.num_computed_tokens = turn.num_prompt();
    if (rule) rule->on_turn_finish(turn, now);
  }
  /// A turn that stores its whole prompt.
  void serve(int job, const Tokens& prompt, bool last = false) {
    Request& turn = arrive(job, prompt, last);
    run(turn);
    store(turn);
    finish(turn);
  }
  void store(const Request& turn) {
    for (const ContentId content : number(turn.spec.prompt)) store(content);
  }
  void store(ContentId content) {
    if (!pool->knows(content)) pool->end_write(pool->reserve(content, now).value());
  }
  /// The contents of the full blocks.
  std::vector<ContentId> number(std::span<const engine::TokenId> tokens) {
    std::vector<ContentId> numbers;
    contents.number_contents(numbers, engine::hash_blocks(tokens, kHostBlock), 0);
    return numbers;
  }
  /// Names the blocks of a prompt a0, a1...
  void name_blocks(std::map<std::string, ContentId>& names, char letter, const Tokens& prompt) {
    const auto numbers = number(prompt);
    for (std::size_t i = 0; i < numbers.size(); ++i) names[letter + std::to_string(i)] = numbers[i];
  }
  /// Stores content that is new until none of the given names is left; returns their order.
  std::string evicted(const std::map<std::string, ContentId>& names) {
    std::string order;
    auto left = names;
    for (int stream = 1000; !left.empty(); ++stream) {
      pool->reserve(number(tokens(kHostBlock, stream)).front(), now);
      std::erase_if(left, [&](const auto& name) {
        if (pool->has(name.second)) return false;
        order += (order.empty() ? "" : " ") + name.first;
        return true;
      });
    }
    return order;
  }

  Nanos now{0};
  std::deque<Request> turns;
  std::deque<Tokens> kept;
  std::unique_ptr<engine::QueueOrder> order;
  std::unique_ptr<engine::HostEviction> rule;
  engine::PrefixCache contents{2};
  std::optional<HostSlots> pool;
};

/// ARC over content named by letters, as vLLM's offloading manager calls it.
struct ArcWorld : HostWorld {
  explicit ArcWorld(int slots, const std::string& rule = "arc") : HostWorld(slots, rule) {}
  static Tokens prompt(char name) { return tokens(kHostBlock, name); }
  ContentId content(char name) { return number(prompt(name)).front(); }
  void insert(char name) { store(content(name)); }
  void touch(char name) { run(arrive(name, prompt(name))); }
  std::string left(const std::string& names) {
    std::string stored;
    for (const char name : names)
      if (pool->has(content(name))) stored += name;
    return stored;
  }
};

}  // namespace

TEST_CASE("arc evicts what one turn used, and keeps more of it once that is missed") {
  // vLLM's order over two slots: a is frequent when c evicts b; b, missed, comes back and evicts c.
  ArcWorld world(2);
  for (const char name : {'a', 'b'}) world.insert(name);
  world.touch('a');
  world.insert('c');
  CHECK(world.left("abc") == "ac");
  world.touch('b');
  world.insert('b');
  CHECK(world.left("abc") == "ab");
}

TEST_CASE("least recent use evicts the frequent content too") {
  ArcWorld world(2, "lru");
  for (const char name : {'a', 'b', 'c', 'b'}) world.insert(name);
  CHECK(world.left("abc") == "bc");
}

TEST_CASE("arc evicts frequent content once enough recent content was missed") {
  ArcWorld world(2);
  for (const char name : {'a', 'b'}) world.insert(name);
  for (const char name : {'a', 'b'}) world.touch(name);  // both are frequent
  world.insert('c');                                     // there is no recent content to evict
  CHECK(world.left("abc") == "bc");
  world.insert('d');  // c is recent, and none is wanted
  CHECK(world.left("bcd") == "bd");
  world.touch('c');  // missed: one is wanted
  world.insert('c');
  CHECK(world.left("bcd") == "bc");
  world.touch('d');  // two are wanted
  world.insert('d');
  CHECK(world.left("bcd") == "cd");
}

TEST_CASE("arc does not evict what a load holds") {
  ArcWorld world(2);
  for (const char name : {'a', 'b'}) world.insert(name);
  const HostSlot a = world.pool->begin_read(world.content('a'));
  world.insert('c');
  CHECK(world.left("abc") == "ac");
  world.pool->end_read(a);
  world.insert('d');
  CHECK(world.left("acd") == "cd");
}

TEST_CASE("the KV of the job that returns last leaves the host first, from its end") {
  // Jobs A and B share their first block and return in 3 and 9 s, C returns in 5.
  HostWorld world(11, "oracle", {3s, 9s, 5s});
  const Tokens root = tokens(kHostBlock, 7);
  const std::vector<Tokens> prompts = {root + tokens(3 * kHostBlock, 1),
                                       root + tokens(3 * kHostBlock, 2), tokens(4 * kHostBlock, 3)};
  for (int job = 0; job < 3; ++job) world.serve(job, prompts[static_cast<std::size_t>(job)]);
  std::map<std::string, ContentId> names;
  for (int job = 0; job < 3; ++job)
    world.name_blocks(names, static_cast<char>('a' + job), prompts[static_cast<std::size_t>(job)]);
  names.erase("b0");
  CHECK(world.evicted(names) == "b3 b2 b1 c3 c2 c1 c0 a3 a2 a1 a0");
}

TEST_CASE("what no job uses leaves the host before all else, and what waits last") {
  HostWorld world(8, "next_use");
  std::map<std::string, ContentId> names;
  for (int job = 0; job < 4; ++job) {
    world.serve(job, tokens(2 * kHostBlock, job + 1), job == 1);  // job 1 is over
    world.name_blocks(names, static_cast<char>('a' + job), tokens(2 * kHostBlock, job + 1));
  }
  world.arrive(2, tokens(2 * kHostBlock, 3));
  world.arrive(0, tokens(2 * kHostBlock, 1));
  CHECK(world.evicted(names) == "b1 b0 d1 d0 a1 a0 c1 c0");
}

TEST_CASE("a turn that runs uses its KV again after its tool, and a last turn never") {
  const auto first_evicted = [](bool last) {
    HostWorld world(2, "oracle", {5s, 1s});
    world.serve(0, tokens(kHostBlock, 1));
    Request& running = world.arrive(1, tokens(kHostBlock, 2), last);
    world.run(running);
    world.store(running);
    std::map<std::string, ContentId> names;
    world.name_blocks(names, 'a', tokens(kHostBlock, 1));
    world.name_blocks(names, 'b', tokens(kHostBlock, 2));
    return world.evicted(names);
  };
  CHECK(first_evicted(false) == "a0 b0");
  CHECK(first_evicted(true) == "b0 a0");
}

TEST_CASE("content that a copy invalidates leaves its slot to the next store") {
  for (const std::string& rule : policies::host_eviction_names()) {
    INFO(rule);
    HostWorld world(2, rule, {1s});
    world.serve(0, tokens(2 * kHostBlock, 1));
    const auto stored = world.number(tokens(2 * kHostBlock, 1));
    const HostSlot bad = world.pool->begin_read(stored[1]);
    world.pool->end_read(bad, false);
    const ContentId fresh = world.number(tokens(kHostBlock, 2)).front();
    if (world.rule) CHECK(index(world.pool->reserve(fresh).value()) == index(bad));
    CHECK(world.pool->has(stored[0]));
  }
}

TEST_CASE("an unknown rule for the host is refused with those that exist") {
  CHECK_THROWS_WITH(policies::host_evictions().make("lfu", {}),
                    Catch::Matchers::Contains("must be one of \"lru\", \"next_use\", \"oracle\", "
                                              "\"arc\", found \"lfu\""));
}
