#include "workers/backends/cpu/cpu_copier.hpp"

#include <algorithm>
#include <latch>
#include <set>

#include "tests/cpu/content_ledger.hpp"
#include "tests/cpu/hand_plan.hpp"
#include "tests/engine/support/seeds.hpp"
#include "workers/backends/errors.hpp"

using namespace cpu_test;
using backends::CopierOptions;
using backends::CopyFault;
using backends::CorruptBlock;
using backends::CpuCopier;
using backends::KvArena;
using backends::UncheckedCopy;
using engine::BlockCopy;
using engine::BlockId;
using engine::CopyDirection;
using engine::CopyId;
using engine::HostSlot;

namespace {

const kernels::KvLayout kLayout{.layers = 2, .kv_heads = 2, .block_size = 4, .head_dim = 8};

BlockCopy pair(std::uint32_t block, std::uint32_t slot) { return {BlockId{block}, HostSlot{slot}}; }

void fill(KvArena& arena, std::uint32_t block, int value) {
  std::ranges::fill(arena.block(block), static_cast<std::byte>(value));
}

/// The value that fill() wrote to the whole block, or -1.
int content(KvArena& arena, std::uint32_t block) {
  const auto bytes = arena.block(block);
  const bool uniform = std::ranges::all_of(bytes, [&](std::byte b) { return b == bytes[0]; });
  return uniform ? static_cast<int>(bytes[0]) : -1;
}

/// Two arenas, with block and slot i filled with i and 100 + i, and a copier between them.
struct CopyWorld {
  explicit CopyWorld(CopierOptions options = {.checksums = true, .fault = {}})
      : copier(device, host, std::move(options)) {}

  CopyId submit(CopyDirection direction, const std::vector<BlockCopy>& copies) {
    return copier.submit(direction, copies, engine::Nanos(0));
  }
  CopyId store(std::uint32_t block, std::uint32_t slot) {
    return submit(CopyDirection::store, {pair(block, slot)});
  }
  CopyId load(std::uint32_t block, std::uint32_t slot) {
    return submit(CopyDirection::load, {pair(block, slot)});
  }
  std::vector<std::uint64_t> poll() {
    std::vector<engine::CopyDone> done;
    copier.poll(engine::Nanos(0), done);
    std::vector<std::uint64_t> ids;
    for (const auto& batch : done) ids.push_back(static_cast<std::uint64_t>(batch.id));
    return ids;
  }
  std::vector<std::uint64_t> wait() {
    copier.wait();
    return poll();
  }

  struct Filled : KvArena {
    explicit Filled(int first) : KvArena(kLayout, model::DType::bf16, 8) {
      for (std::uint32_t i = 0; i < 8; ++i) fill(*this, i, first + static_cast<int>(i));
    }
  };
  Filled device{0}, host{100};
  CpuCopier copier;
};

/// Stops the first batch while it is being copied.
struct Hold {
  std::latch begun{1}, go_on{1};
  CopierOptions options() {
    return {.checksums = true, .fault = [this](CopyId id) {
              if (id == CopyId{1}) {
                begun.count_down();
                go_on.wait();
              }
              return CopyFault::none;
            }};
  }
};
struct HeldWorld : Hold, CopyWorld {
  HeldWorld() : CopyWorld(options()) {}
};

using Batches = std::vector<std::uint64_t>;

/// Injects these faults, from the first batch on.
CopierOptions faults(std::vector<CopyFault> planted) {
  return {.checksums = true, .fault = [planted](CopyId id) {
            const auto at = static_cast<std::size_t>(id) - 1;
            return at < planted.size() ? planted[at] : CopyFault::none;
          }};
}

}  // namespace

TEST_CASE("a stored block comes back as it was", "[copier]") {
  CopyWorld world;
  CHECK(world.store(3, 5) == CopyId{1});
  CHECK(world.wait() == Batches{1});
  CHECK(content(world.host, 5) == 3);
  fill(world.device, 3, 77);
  world.load(6, 5);
  CHECK(world.wait() == Batches{2});
  CHECK(content(world.device, 6) == 3);
  CHECK(content(world.host, 4) == 104);
  CHECK(content(world.device, 3) == 77);
}

TEST_CASE("batches of one direction end in order, and each is reported once", "[copier]") {
  CopyWorld world;
  for (std::uint32_t i = 0; i < 4; ++i)
    world.submit(CopyDirection::store, {pair(i, i), pair(i + 4, i + 4)});
  world.submit(CopyDirection::store, {});
  CHECK(world.wait() == Batches{1, 2, 3, 4, 5});
  CHECK(world.wait().empty());
  for (std::uint32_t i = 0; i < 8; ++i) CHECK(content(world.host, i) == static_cast<int>(i));
}

TEST_CASE("waiting for nothing returns at once, and nothing completes by itself", "[copier]") {
  CopyWorld world;
  CHECK(world.wait().empty());
  CHECK_FALSE(world.copier.next_completion().has_value());
}

TEST_CASE("a destroyed copier skips copies that it has not begun", "[copier]") {
  for (int i = 0; i < 20; ++i) {
    CopyWorld world;
    for (std::uint32_t block = 0; block < 8; ++block) world.store(block, block);
  }
  SUCCEED();
}

TEST_CASE("a batch that is withdrawn is neither copied nor reported", "[copier]") {
  HeldWorld world;
  const CopyId first = world.store(1, 1);
  const CopyId second = world.store(2, 2);
  world.store(3, 3);
  world.begun.wait();
  CHECK_FALSE(world.copier.withdraw(first, engine::Nanos(0)));
  CHECK(world.copier.withdraw(second, engine::Nanos(0)));
  CHECK_FALSE(world.copier.withdraw(second, engine::Nanos(0)));
  world.go_on.count_down();
  CHECK(world.wait() == Batches{1, 3});
  CHECK(content(world.host, 1) == 1);
  CHECK(content(world.host, 2) == 102);
  CHECK(content(world.host, 3) == 3);
}

TEST_CASE("withdrawing later batches does not disturb the one that is being copied", "[copier]") {
  HeldWorld world;
  for (std::uint32_t block = 1; block <= 6; ++block) world.store(block, block);
  world.begun.wait();
  for (const std::uint64_t id : {2, 3, 4}) CHECK(world.copier.withdraw(CopyId{id}, {}));
  world.go_on.count_down();
  CHECK(world.wait() == Batches{1, 5, 6});
  CHECK(content(world.host, 1) == 1);
  CHECK(content(world.host, 4) == 104);
  CHECK(content(world.host, 6) == 6);
}

TEST_CASE("random copies in both directions leave what a naive model says", "[copier][fuzz]") {
  support::for_each_seed(50, [](std::uint64_t seed) {
    support::Dice dice(seed);
    CopyWorld world;
    std::vector<int> device, host;
    for (int i = 0; i < 8; ++i) device.push_back(i), host.push_back(100 + i);
    std::set<int> stored;
    for (int round = 0; round < 30; ++round) {
      // Blocks and slots 0 to 3 belong to stores, 4 to 7 to loads: no copy meets another.
      const auto block = dice.between(0, 3), slot = dice.between(0, 3);
      fill(world.device, static_cast<std::uint32_t>(block), dice.between(0, 99));
      device[static_cast<std::size_t>(block)] =
          content(world.device, static_cast<std::uint32_t>(block));
      world.store(static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(slot));
      host[static_cast<std::size_t>(slot)] = device[static_cast<std::size_t>(block)];
      const auto resident =
          stored.empty() ? -1 : *std::next(stored.begin(), dice.between(0, int(stored.size()) - 1));
      if (resident >= 0) {
        world.load(static_cast<std::uint32_t>(4 + block), static_cast<std::uint32_t>(resident));
        device[static_cast<std::size_t>(4 + block)] = host[static_cast<std::size_t>(resident)];
      }
      const std::size_t expected = resident >= 0 ? 2 : 1;
      if (world.wait().size() != expected) throw std::logic_error("a batch is not reported");
      world.store(static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(4 + slot));
      host[static_cast<std::size_t>(4 + slot)] = device[static_cast<std::size_t>(block)];
      world.wait();
      stored.insert(4 + slot);
    }
    for (std::uint32_t i = 0; i < 8; ++i)
      if (content(world.device, i) != device[i] || content(world.host, i) != host[i])
        throw std::logic_error("block or slot " + std::to_string(i) + " holds something else");
  });
}

TEST_CASE("arenas of different blocks are refused", "[copier]") {
  KvArena device(kLayout, model::DType::bf16, 2), host(kLayout, model::DType::f32, 2);
  CHECK_THROWS_AS(CpuCopier(device, host), std::invalid_argument);
}

TEST_CASE("a copy that never happened is noticed by its checksum", "[copier][debug]") {
  CopyWorld store(faults({CopyFault::skip}));
  store.store(3, 5);
  store.copier.wait();
  CHECK_THROWS_WITH(store.poll(), Catch::Matchers::Contains("KV block 3 (store 1, host slot 5)"));
  CopyWorld load(faults({CopyFault::none, CopyFault::skip}));
  load.store(3, 5);
  load.wait();
  load.load(4, 5);
  load.copier.wait();
  CHECK_THROWS_WITH(load.poll(), Catch::Matchers::Contains("KV block 4 (load 2, host slot 5)"));
}

TEST_CASE(
    "a batch reported done before all of it was copied is noticed at the first block left out",
    "[copier][debug]") {
  const CopyDirection direction = GENERATE(CopyDirection::store, CopyDirection::load);
  CopyWorld world(faults({CopyFault::none, CopyFault::stop_short}));
  world.submit(CopyDirection::store, {pair(3, 5), pair(4, 6), pair(2, 7)});
  world.wait();
  world.submit(direction, {pair(3, 5), pair(4, 6), pair(2, 7)});
  world.copier.wait();
  CHECK_THROWS_AS(world.poll(), UncheckedCopy);
}

TEST_CASE("a slot with content that changed after the store is detected when it is loaded",
          "[copier][debug]") {
  CopyWorld world;
  world.store(3, 5);
  world.wait();
  world.host.block(5)[0] ^= std::byte{1};
  world.load(4, 5);
  world.copier.wait();
  CHECK_THROWS_AS(world.poll(), CorruptBlock);
}

TEST_CASE("a store reported before it happened is noticed when the slot is loaded",
          "[copier][debug]") {
  CopyWorld world(faults({CopyFault::complete_early}));
  world.store(3, 5);
  CHECK(world.wait() == Batches{1});
  fill(world.device, 3, 77);  // the block is allocated for something else
  world.store(2, 4);          // block 3 is read only here
  world.wait();
  world.load(6, 5);
  world.copier.wait();
  CHECK_THROWS_AS(world.poll(), CorruptBlock);
}

TEST_CASE("a load that happens after its block was written again is noticed", "[copier][debug]") {
  CopyWorld world(faults({CopyFault::none, CopyFault::complete_early}));
  world.store(3, 5);
  world.wait();
  world.load(6, 5);
  CHECK(world.wait() == Batches{2});
  fill(world.device, 6, 77);  // the block is allocated for something else
  CHECK_THROWS_WITH(world.load(7, 5),
                    Catch::Matchers::Contains("KV block 6 (before load 2, host slot 5)"));
}

TEST_CASE("a block that is written before its load begins is noticed", "[copier][debug]") {
  HeldWorld world;
  world.store(3, 5);
  world.begun.wait();
  world.load(6, 5);
  fill(world.device, 6, 77);
  world.go_on.count_down();
  world.copier.wait();
  CHECK_THROWS_WITH(world.poll(),
                    Catch::Matchers::Contains("KV block 6 (before load 2, host slot 5)"));
}

namespace {

/// Stores a prompt's block to the host, overwrites it on the device, loads it again, and has
/// another request read it.
std::size_t run_over_host(CopierOptions options) {
  backends::CpuOptions debug;
  debug.checks = backends::Checks::debug;
  backends::CpuBackend computing(small_llama(), {.num_blocks = 8, .block_size = 4}, debug);
  CheckedBackend backend(computing);
  KvArena host(computing.arena().layout(), computing.arena().type(), 4);
  CpuCopier copier(computing.arena(), host, std::move(options));
  const auto through = [&](CopyDirection direction, BlockCopy copy) {
    std::vector<engine::CopyDone> done;
    copier.submit(direction, {&copy, 1}, engine::Nanos(0));
    copier.wait();
    copier.poll(engine::Nanos(0), done);
  };
  HandPlans plans(4);
  engine::Request& first = plans.request(small_tokens(5), {1, 2});
  engine::Request& other = plans.request(small_tokens(5, 30), {1, 2});
  engine::Request& second = plans.request(small_tokens(5), {3, 4});
  backend.execute(plans.step({{first, 0, 5, 2}}));
  through(CopyDirection::store, pair(1, 2));
  backend.execute(plans.step({{other, 0, 5, 2}}));
  through(CopyDirection::load, pair(3, 2));
  return backend.execute(plans.step({{second, 4, 5, 1}})).sampled.size();
}

}  // namespace

TEST_CASE("a request accepts KV that was stored and restored", "[copier][debug]") {
  CHECK(run_over_host({.checksums = true, .fault = {}}) == 1);
}

TEST_CASE("the request that reads the block detects a load reported before it happened",
          "[copier][debug]") {
  CHECK_THROWS_WITH(run_over_host(faults({CopyFault::none, CopyFault::complete_early})),
                    Catch::Matchers::Contains("KV block 3 (step 3, read by request 2)"));
}

TEST_CASE("a step computes while blocks of others move in both directions", "[copier][debug]") {
  backends::CpuOptions debug;
  debug.checks = backends::Checks::debug;
  backends::CpuBackend computing(small_llama(), {.num_blocks = 40, .block_size = 4}, debug);
  CheckedBackend backend(computing);
  KvArena host(computing.arena().layout(), computing.arena().type(), 16);
  CpuCopier copier(computing.arena(), host, {.checksums = true, .fault = {}});
  HandPlans plans(4);
  const Tokens prompt = small_tokens(17), other = small_tokens(17, 30);
  engine::Request& first = plans.request(prompt, {1, 2, 3, 4, 5});
  engine::Request& again = plans.request(prompt, {21, 22, 23, 24, 25});
  backend.execute(plans.step({{first, 0, 17, 5}}));
  const auto submit = [&](CopyDirection direction, std::uint32_t block) {
    std::vector<BlockCopy> copies;
    for (std::uint32_t i = 0; i < 4; ++i) copies.push_back(pair(block + i, i));
    copier.submit(direction, copies, engine::Nanos(0));
  };
  std::vector<engine::CopyDone> done;
  submit(CopyDirection::store, 1);
  backend.execute(plans.step({{plans.request(other, {6, 7, 8, 9, 10}), 0, 17, 5}}));
  copier.wait();
  for (const std::uint32_t block : {11u, 21u, 31u}) submit(CopyDirection::load, block);
  backend.execute(plans.step({{plans.request(other, {26, 27, 28, 29, 30}), 0, 17, 5}}));
  copier.wait();
  copier.poll(engine::Nanos(0), done);
  CHECK(done.size() == 4);
  CHECK(backend.execute(plans.step({{again, 16, 17, 1}})).sampled.size() == 1);
}
