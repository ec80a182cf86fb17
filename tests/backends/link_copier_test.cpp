#include "workers/backends/sim/link_copier.hpp"

#include <cstdlib>
#include <map>
#include <random>

#include "tests/support/catch.hpp"

using namespace std::chrono_literals;
using backends::LinkCopier;
using backends::LinkModel;
using engine::CopyDirection;
using engine::CopyId;
using engine::Nanos;

namespace {

/// One block is 1,000 bytes: 1 us to load at 1 GB/s, 2 us to store.
constexpr LinkModel kLink{1, 0.5, 1, false, 1000};

struct LinkWorld {
  explicit LinkWorld(const LinkModel& model = kLink) : link(model) {}
  CopyId load(std::size_t blocks, Nanos now) { return submit(CopyDirection::load, blocks, now); }
  CopyId store(std::size_t blocks, Nanos now) { return submit(CopyDirection::store, blocks, now); }
  CopyId submit(CopyDirection direction, std::size_t blocks, Nanos now) {
    const std::vector<engine::BlockCopy> copies(blocks);
    return link.submit(direction, copies, now);
  }
  std::vector<std::uint64_t> done_at(Nanos now) {
    done.clear();
    link.poll(now, done);
    std::vector<std::uint64_t> ids;
    for (const auto& copy : done) ids.push_back(static_cast<std::uint64_t>(copy.id));
    return ids;
  }
  LinkCopier link;
  std::vector<engine::CopyDone> done;
};

using Ids = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("a copy takes its bytes over the rate of its direction", "[link]") {
  LinkWorld world;
  world.load(3, 5us);
  CHECK(world.link.next_completion() == 8us);
  CHECK(world.done_at(8us - 1ns).empty());
  CHECK(world.done_at(8us) == Ids{1});
  CHECK(world.done[0].busy == 3us);
  CHECK_FALSE(world.link.next_completion());
  world.store(3, 10us);
  CHECK(world.link.next_completion() == 16us);
}

TEST_CASE("a direction serves one batch after the other", "[link]") {
  LinkWorld world;
  world.load(1, 0us);
  world.load(2, 0us);
  CHECK(world.done_at(1us) == Ids{1});
  CHECK(world.link.next_completion() == 3us);
  CHECK(world.done_at(10us) == Ids{2});
  CHECK(world.done[0].busy == 2us);
}

TEST_CASE("directions slow each other down only while both are busy", "[link]") {
  LinkWorld world({1, 1, 0.5, false, 1000});
  world.load(4, 0us);
  world.store(1, 0us);
  CHECK(world.link.next_completion() == 2us);  // a block at half the rate
  CHECK(world.done_at(2us) == Ids{2});
  CHECK(world.link.next_completion() == 5us);  // three blocks left, alone
}

TEST_CASE("an infinite link is through at once", "[link]") {
  LinkWorld world({0, 0, 1, true, 1000});
  world.load(1000, 7us);
  CHECK(world.link.next_completion() == 7us);
  CHECK(world.done_at(7us) == Ids{1});
}

TEST_CASE("a batch that has begun cannot be withdrawn", "[link]") {
  LinkWorld world;
  const CopyId first = world.load(1, 0us), second = world.load(1, 0us), third = world.load(1, 0us);
  CHECK_FALSE(world.link.withdraw(first, 0us));
  CHECK(world.link.withdraw(second, 0us));
  CHECK_FALSE(world.link.withdraw(third, 1500ns));
  CHECK(world.done_at(2us) == Ids{1, 3});
}

TEST_CASE("a link without rates is refused", "[link]") {
  CHECK_THROWS_AS(LinkCopier({0, 1, 1, false, 1000}), std::invalid_argument);
  CHECK_THROWS_AS(LinkCopier({1, 1, 0, false, 1000}), std::invalid_argument);
  CHECK_THROWS_AS(LinkCopier({1, 1, 1, false, 0}), std::invalid_argument);
}

TEST_CASE("the kind of host memory chooses the card's rates", "[link]") {
  const backends::LinkRates rates{50, 40, 20, 10, 0.9};
  const LinkModel pinned = backends::link_model(rates, backends::LinkMemory::pinned, 7);
  CHECK((pinned.load_gb_s == 50 && pinned.store_gb_s == 40 && pinned.duplex_factor == 0.9));
  CHECK(pinned.bytes_per_block == 7);
  const LinkModel pageable = backends::link_model(rates, backends::LinkMemory::pageable, 7);
  CHECK((pageable.load_gb_s == 20 && pageable.store_gb_s == 10));
}

TEST_CASE("completions do not depend on when they are polled", "[link]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    LinkWorld seldom({0.7, 0.3, 0.8, false, 1000}), often({0.7, 0.3, 0.8, false, 1000});
    std::mt19937_64 random(seed);
    Nanos now{0};
    std::map<std::uint64_t, Nanos> busy;
    const auto look = [&](LinkWorld& world) {
      for (const auto id : world.done_at(now)) (void)id;
      for (const auto& copy : world.done) {
        const auto [at, fresh] = busy.emplace(static_cast<std::uint64_t>(copy.id), copy.busy);
        if (!fresh) CHECK(std::abs((at->second - copy.busy).count()) <= 1);
      }
    };
    for (int i = 0; i < 50; ++i) {
      const auto direction = random() % 2 == 0 ? CopyDirection::load : CopyDirection::store;
      const std::size_t blocks = 1 + random() % 5;
      seldom.submit(direction, blocks, now);
      often.submit(direction, blocks, now);
      for (int pause = 0; pause < 3; ++pause) {
        now += Nanos{static_cast<std::int64_t>(random() % 3000)};
        look(often);
      }
    }
    now += 10ms;
    look(seldom);
    look(often);
    CHECK(busy.size() == 50);
  }
}

TEST_CASE("without duplex one direction waits for the other", "[link]") {
  // 1 MB blocks at 1 GB/s: 1 ms each.
  LinkCopier link({1, 1, 1, false, 1'000'000, false});
  const engine::BlockCopy copies[] = {{engine::BlockId{1}, engine::HostSlot{0}},
                                      {engine::BlockId{2}, engine::HostSlot{1}}};
  const auto store = link.submit(engine::CopyDirection::store, copies, engine::Nanos{0});
  const auto load =
      link.submit(engine::CopyDirection::load, std::span(copies).first(1), engine::Nanos{0});
  std::vector<engine::CopyDone> done;
  link.poll(std::chrono::milliseconds{2}, done);
  REQUIRE(done.size() == 1);
  CHECK((done[0].id == store && done[0].busy == std::chrono::milliseconds{2}));
  CHECK(link.next_completion() == engine::Nanos{std::chrono::milliseconds{3}});
  link.poll(std::chrono::milliseconds{3}, done);
  REQUIRE(done.size() == 2);
  CHECK((done[1].id == load && done[1].busy == std::chrono::milliseconds{1}));
}

TEST_CASE("without duplex a batch that waits for the other direction can be withdrawn", "[link]") {
  LinkCopier link({1, 1, 1, false, 1'000'000, false});
  const engine::BlockCopy copy[] = {{engine::BlockId{1}, engine::HostSlot{0}}};
  const auto store = link.submit(engine::CopyDirection::store, copy, engine::Nanos{0});
  const auto load = link.submit(engine::CopyDirection::load, copy, engine::Nanos{0});
  CHECK_FALSE(link.withdraw(store, engine::Nanos{10}));
  CHECK(link.withdraw(load, engine::Nanos{10}));
}
