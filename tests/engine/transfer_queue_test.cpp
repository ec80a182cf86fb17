#include "workers/engine/step/transfer_queue.hpp"

#include "tests/engine/support/scripted_copier.hpp"
#include "tests/engine/support/tokens.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using namespace std::chrono_literals;
using engine::BlockCopy;
using engine::CopyDirection;
using engine::Nanos;
using engine::TransferId;
using engine::Urgency;
using Texts = std::vector<std::string>;

namespace {

/// Copies of `count` blocks from block and slot `first` on.
std::vector<BlockCopy> copies(int first, int count) {
  std::vector<BlockCopy> all;
  for (int i = first; i < first + count; ++i) {
    const auto n = static_cast<std::uint32_t>(i);
    all.push_back({engine::BlockId{n}, engine::HostSlot{n}});
  }
  return all;
}

/// A queue with quanta of two blocks; the copier completes one quantum per direction and poll.
struct QueueWorld {
  explicit QueueWorld(int max_ahead = 0) : queue({2, max_ahead}, copier) { copier.per_poll = 1; }

  TransferId load(int first, int count, Urgency urgency, Nanos deadline = 0ns) {
    return queue.submit({CopyDirection::load, urgency, deadline}, copies(first, count));
  }
  TransferId store(int first, int count) {
    return queue.submit({CopyDirection::store, Urgency::background}, copies(first, count));
  }
  void submit_next() { queue.submit_next(0ns); }
  /// "1:4" for transfer 1 with four landed copies, "2:0!" for one that failed.
  Texts poll() {
    Texts all;
    for (const auto& [id, landed, failed] : queue.poll(0ns))
      all.push_back(std::to_string(static_cast<int>(id)) + ':' + std::to_string(landed) +
                    (failed ? "!" : ""));
    return all;
  }

  ScriptedCopier copier;
  engine::TransferQueue queue;
};

}  // namespace

TEST_CASE("a transfer moves in quanta and is over with its last", "[transfer]") {
  QueueWorld world;
  world.load(0, 5, Urgency::demand);
  world.submit_next();
  CHECK(world.copier.pending() == Texts{"load 0>0 1>1", "load 2>2 3>3", "load 4>4"});
  CHECK(world.poll().empty());
  CHECK(world.poll().empty());
  CHECK(world.queue.busy());
  CHECK(world.poll() == Texts{"1:5"});
  CHECK_FALSE(world.queue.busy());
}

TEST_CASE("demand goes before prefetches, and these before background copies", "[transfer]") {
  QueueWorld world;
  world.load(0, 2, Urgency::background);
  world.load(2, 2, Urgency::prefetch);
  world.load(4, 2, Urgency::demand);
  world.submit_next();
  CHECK(world.copier.pending() == Texts{"load 4>4 5>5", "load 2>2 3>3", "load 0>0 1>1"});
}

TEST_CASE("among prefetches the earliest deadline goes first", "[transfer]") {
  QueueWorld world;
  world.load(0, 2, Urgency::prefetch, 30ms);
  world.load(2, 2, Urgency::prefetch, 10ms);
  world.load(4, 2, Urgency::prefetch, 20ms);
  world.submit_next();
  CHECK(world.copier.pending() == Texts{"load 2>2 3>3", "load 4>4 5>5", "load 0>0 1>1"});
}

TEST_CASE("an urgent transfer overtakes quanta that have not begun", "[transfer]") {
  QueueWorld world;
  world.load(0, 6, Urgency::background);
  world.submit_next();
  world.load(8, 2, Urgency::demand);
  world.submit_next();
  CHECK(world.copier.pending() ==
        Texts{"load 0>0 1>1", "load 8>8 9>9", "load 2>2 3>3", "load 4>4 5>5"});
  world.poll();
  CHECK(world.poll() == Texts{"2:2"});
  world.poll();
  CHECK(world.poll() == Texts{"1:6"});
}

TEST_CASE("a copier that cannot withdraw gets no more than max_ahead quanta", "[transfer]") {
  QueueWorld world(1);
  world.copier.can_withdraw = false;
  world.load(0, 6, Urgency::background);
  world.submit_next();
  world.load(8, 2, Urgency::demand);
  world.submit_next();
  CHECK(world.copier.pending() == Texts{"load 0>0 1>1"});
  world.poll();
  CHECK(world.copier.pending() == Texts{"load 8>8 9>9"});
}

TEST_CASE("a prefetch that a request waits for overtakes others", "[transfer]") {
  QueueWorld world;
  world.load(0, 2, Urgency::prefetch, 10ms);
  world.load(2, 2, Urgency::prefetch, 20ms);
  const auto late = world.load(4, 4, Urgency::prefetch, 30ms);
  world.submit_next();
  world.queue.raise(late, Urgency::demand, 0ns);
  world.submit_next();
  CHECK(world.copier.pending() ==
        Texts{"load 0>0 1>1", "load 4>4 5>5", "load 6>6 7>7", "load 2>2 3>3"});
}

TEST_CASE("a cancelled transfer keeps the quanta that have begun", "[transfer]") {
  QueueWorld world;
  const auto id = world.load(0, 6, Urgency::prefetch);
  world.submit_next();
  world.poll();
  world.queue.cancel(id, 0ns);
  world.submit_next();
  CHECK(world.copier.pending() == Texts{"load 2>2 3>3"});
  CHECK(world.poll() == Texts{"1:4"});
  CHECK_FALSE(world.queue.busy());
}

TEST_CASE("a transfer cancelled before it begins is reported without a copy", "[transfer]") {
  QueueWorld world;
  world.load(0, 2, Urgency::demand);
  const auto id = world.load(2, 4, Urgency::demand);
  world.load(6, 2, Urgency::demand);
  world.submit_next();
  world.queue.cancel(id, 0ns);
  world.submit_next();
  CHECK(world.copier.pending() == Texts{"load 0>0 1>1", "load 6>6 7>7"});
  CHECK(world.poll() == Texts{"2:0", "1:2"});
  CHECK(world.poll() == Texts{"3:2"});
}

TEST_CASE("copies before a failed quantum have landed", "[transfer]") {
  QueueWorld world;
  world.copier.fails = [](const auto& batch) {
    return batch.copies[0].slot == engine::HostSlot{2};
  };
  world.load(0, 6, Urgency::demand);
  world.submit_next();
  world.poll();
  world.poll();
  CHECK(world.poll() == Texts{"1:2!"});
}

TEST_CASE("both directions run concurrently, and their blocks and time are counted separately",
          "[transfer]") {
  QueueWorld world;
  world.load(0, 2, Urgency::demand);
  world.store(2, 4);
  world.submit_next();
  CHECK(world.poll() == Texts{"1:2"});
  CHECK(world.poll() == Texts{"2:4"});
  const auto stats = world.queue.take_stats();
  CHECK((stats.loaded_blocks == 2 && stats.stored_blocks == 4));
  CHECK((stats.load_busy == 1000ns && stats.store_busy == 2000ns));
  CHECK(world.queue.take_stats().stored_blocks == 0);
}

TEST_CASE("draining waits for every copy", "[transfer]") {
  QueueWorld world;
  world.copier.latency = 1'000'000;
  world.load(0, 3, Urgency::demand);
  world.store(4, 1);
  engine::VirtualClock clock;
  CHECK(world.queue.drain(clock).size() == 2);
  CHECK_FALSE(world.queue.busy());
}
