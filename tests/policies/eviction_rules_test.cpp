#include "tests/engine/support/kv_world.hpp"
#include "tests/support/catch.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/engine/scheduler/ranked_eviction.hpp"
#include "workers/policies/factory.hpp"

using namespace support;
using namespace std::chrono_literals;
using engine::BlockId;
using engine::Request;

namespace {

constexpr int kBlock = 4;  // tokens

struct Served {
  int job = 0, number = 0;
  int new_tokens = 0;  // of its prompt beyond the turn before
  bool last = false;
};

/// Turns over a small pool whose content is evicted by a rule.
struct RuleWorld : KvWorld {
  RuleWorld(int usable_blocks, const std::string& rule, const policies::EvictionConfig& config = {})
      : KvWorld(usable_blocks + 1, kBlock),
        rule(policies::eviction_rules().make(rule, config)),
        eviction(engine::make_eviction_order({.rule = this->rule}, kv, *queue)) {}

  Request& begin(const Tokens& prompt, const Served& turn = {}) {
    Request& request = sequence(prompt);
    request.spec.job = engine::JobId{static_cast<std::uint32_t>(turn.job)};
    request.spec.turn = turn.number;
    request.spec.last_turn = turn.last;
    request.spec.computed_by_earlier_turns = request.num_prompt() - turn.new_tokens;
    const auto hit = static_cast<int>(hits(request).size()) * kBlock;
    REQUIRE(admit(request, request.num_prompt() - hit));
    return request;
  }
  /// Returns the blocks that the turn had.
  std::vector<BlockId> finish(Request& request, engine::Nanos now = {}) {
    std::vector<BlockId> had = request.blocks;
    request.status = engine::RequestStatus::finished;
    eviction->on_turn_finish(request, now);
    free(request);
    return had;
  }
  std::vector<BlockId> serve(const Tokens& prompt, const Served& turn = {}) {
    return finish(begin(prompt, turn));
  }
  /// A turn of another job that needs this many blocks: the blocks evicted for it, in order.
  std::vector<BlockId> take(int blocks, engine::Nanos now = {}) {
    kv.clear_evictions();
    eviction->begin_step(now);
    begin(tokens(blocks * kBlock, 99), {.job = 99});
    std::vector<BlockId> lost;
    for (const engine::Eviction& each : kv.evictions()) lost.push_back(each.block);
    return lost;
  }
  int cached(const Tokens& prompt) { return static_cast<int>(hits(sequence(prompt)).size()); }

  std::shared_ptr<engine::EvictionRule> rule;
  std::unique_ptr<engine::QueueOrder> queue = policies::make_order({});
  std::unique_ptr<engine::EvictionOrder> eviction;
};

policies::EvictionConfig retained(const std::string& text) {
  return {.parameters = {{"retained", text}}};
}

}  // namespace

TEST_CASE("a block is evicted before the one that it continues, whatever their ranks") {
  RuleWorld world(5, "retention_priority", retained("0-4:10, 4-8:50, 8-:90"));
  const auto a = world.serve(tokens(12, 1));
  CHECK(world.take(5) == std::vector{a[2], a[1], a[0]});
}

TEST_CASE("a shared block is evicted after all that continue it") {
  RuleWorld world(5, "retention_priority", retained("0-4:10"));
  const Tokens root = tokens(4, 7);
  const auto a = world.serve(root + tokens(8, 1));
  const auto b = world.serve(root + tokens(8, 2));
  REQUIRE(a[0] == b[0]);
  CHECK(world.take(5) == std::vector{a[2], a[1], b[2], b[1], a[0]});
}

TEST_CASE("of a session that the client closes goes first what no other job has used") {
  RuleWorld world(6, "session_close");
  const Tokens root = tokens(4, 7);
  const auto open = world.serve(root + tokens(8, 1), {.job = 1});
  const auto closed = world.serve(root + tokens(8, 2), {.job = 2, .last = true});
  REQUIRE(open[0] == closed[0]);
  CHECK(world.take(4) == std::vector{closed[2], closed[1], open[2]});
}

TEST_CASE("slru evicts KV that one turn used before KV that two did") {
  // Accesses a b a b c d e of one block each over a capacity of four, of which two are protected;
  // the fifth block is where each turn computes its last token.
  const auto left = [](const std::string& order, double fraction) {
    RuleWorld world(5, order, {.parameters = {{"protected_fraction", fraction}}});
    int number = 0;
    for (const int content : {1, 2, 1, 2, 3, 4, 5})
      world.serve(tokens(5, content), {.number = number++});
    Ids cached;
    for (int content = 1; content <= 5; ++content)
      cached.push_back(world.cached(tokens(5, content)));
    return cached;
  };
  CHECK(left("slru", 0.4) == Ids{1, 1, 0, 1, 1});
  // Without a protected segment it is LRU.
  CHECK(left("slru", 0) == Ids{0, 1, 1, 1, 1});
}

TEST_CASE("slru can ask that another job finds KV before it is protected") {
  const auto protects = [](bool counts_jobs, int second_job) {
    RuleWorld world(4, "slru", {.parameters = {{"slru_counts", counts_jobs ? "job" : "turn"}}});
    world.serve(tokens(5, 1), {.job = 0, .number = 0});
    world.serve(tokens(5, 1), {.job = second_job, .number = 1});
    world.serve(tokens(5, 2), {.job = 2});
    world.take(3);
    return world.cached(tokens(5, 1)) == 1;
  };
  CHECK(protects(false, 0));
  CHECK_FALSE(protects(true, 0));
  CHECK(protects(true, 1));
}

TEST_CASE("tail_lru evicts what no turn needs to be on time, then in order of release") {
  // In blocks: contexts of 10, the next prompt adds 2, and 4 may be computed again.
  RuleWorld world(20, "tail_lru", {.parameters = {{"spare_tokens", 4.0 * kBlock}}});
  const auto a = world.serve(tokens(40, 1), {.number = 1, .new_tokens = 2 * kBlock});
  const auto b = world.serve(tokens(40, 2), {.job = 1, .number = 1, .new_tokens = 2 * kBlock});
  CHECK(world.take(5) == std::vector{a[9], a[8], b[9], b[8], a[7]});
}

TEST_CASE("after tail_lru the turn that computes most again computes less than after LRU") {
  // The same contexts; then each job's next prompt adds 2 blocks.
  const auto computed_again = [](const std::string& rule, double spare_blocks) {
    RuleWorld world(20, rule, {.parameters = {{"spare_tokens", spare_blocks * kBlock}}});
    world.serve(tokens(40, 1), {.number = 1, .new_tokens = 2 * kBlock});
    world.serve(tokens(40, 2), {.job = 1, .number = 1, .new_tokens = 2 * kBlock});
    world.take(5);
    const auto blocks = [&](int content) {
      return 12 - world.cached(tokens(40, content) + tokens(8, 10 + content));
    };
    return Ids{blocks(1), blocks(2)};
  };
  CHECK(computed_again("tail_lru", 4) == Ids{5, 4});
  // With nothing to spare tail_lru is LRU.
  CHECK(computed_again("tail_lru", 0) == Ids{7, 2});
}

TEST_CASE("tail_lru keeps nothing of a job that is over") {
  RuleWorld world(8, "tail_lru", {.parameters = {{"spare_tokens", 0.0}}});
  const auto a = world.serve(tokens(16, 1));
  const auto over = world.serve(tokens(16, 2), {.job = 1, .last = true});
  CHECK(world.take(5) == std::vector{over[3], over[2], over[1], over[0], a[3]});
}

TEST_CASE("retention_priority evicts the least priority first, and counts it only while it lasts") {
  // p has priority 80 for two seconds, q the usual one, r 10.
  const auto lost_at = [](engine::Nanos now, int blocks) {
    RuleWorld world(6, "retention_priority", retained("0-4:80:2, 8-:10"));
    const BlockId p = world.serve(tokens(4, 1)).back();
    const BlockId q = world.serve(tokens(8, 2)).back();
    const BlockId r = world.serve(tokens(12, 3)).back();
    std::string lost;
    for (const BlockId each : world.take(blocks, now))
      lost += each == p ? 'p' : each == q ? 'q' : each == r ? 'r' : '.';
    return lost;
  };
  CHECK(lost_at(1s, 2) == "rq");
  CHECK(lost_at(3s, 3) == "rpq");
}

TEST_CASE("retention_priority keeps the higher of two priorities of a shared block") {
  RuleWorld world(4, "retention_priority", retained("generated:20, 0-:70"));
  Request& first = world.begin(tokens(4, 1));
  REQUIRE(world.append(first, tokens(4, 2)));
  const auto a = world.finish(first);
  CHECK(world.rule->rank(a[1], 0s).value == 20);
  world.serve(tokens(4, 1) + tokens(4, 2) + tokens(1, 3), {.number = 1});
  CHECK(world.rule->rank(a[1], 0s).value == 70);
}

TEST_CASE("priorities of ranges of tokens are read with their seconds, or refused") {
  const auto read = policies::parse_retained("0-512:100, 512-:35:2.5,generated:20");
  REQUIRE(read.ranges.size() == 2);
  CHECK(read.ranges[0].end == 512);
  CHECK(read.ranges[0].lasts == engine::Nanos::max());
  CHECK(read.ranges[1].begin == 512);
  CHECK(read.ranges[1].lasts == 2500ms);
  CHECK(read.generated.at(0).priority == 20);
  CHECK(policies::parse_retained("").ranges.empty());
  for (const char* wrong : {"0-512", "0-512:101", "512:35", "0-4:35:", "0-4:35 4-:20", "0-4:35,"})
    CHECK_THROWS_AS(policies::parse_retained(wrong), engine::InputError);
}

TEST_CASE("cost_aware evicts the KV of least use times cost, and ages what it keeps") {
  // Costs of 1, 2, 3... by place in the context, so that a block's place is its cost less one.
  const auto rule = policies::eviction_rules().make("cost_aware", {.cost_growth = 1.0 / kBlock});
  rule->prepare(9, kBlock);
  const auto use = [&](std::uint32_t block, int cost, int times = 1) {
    Request turn;
    turn.blocks.assign(static_cast<std::size_t>(cost), BlockId{block});
    rule->on_registered(turn, cost - 1);
    for (; times > 1; --times) rule->on_hit(turn, cost - 1);
  };
  const auto worth = [&](std::uint32_t block) { return rule->rank(BlockId{block}, 0s).value; };
  constexpr std::uint32_t x = 1, y = 2, z = 3, w = 4, v = 5;
  use(x, 2);
  use(y, 1, 3);
  use(z, 5);
  CHECK(worth(x) == 2);
  CHECK(worth(y) == 3);
  CHECK(worth(z) == 5);
  rule->on_evicted(BlockId{x});
  use(w, 1);
  CHECK(worth(w) == 3);
  rule->on_evicted(BlockId{y});
  use(v, 4);
  CHECK(worth(v) == 7);
}

TEST_CASE("cost_aware keeps KV that is expensive to recompute, and of equals what came last") {
  RuleWorld world(4, "cost_aware", {.cost_growth = 1});
  const auto a = world.serve(tokens(12, 1));
  const auto b = world.serve(tokens(4, 2));
  CHECK(world.take(2) == std::vector{b[0], a[2]});
}
