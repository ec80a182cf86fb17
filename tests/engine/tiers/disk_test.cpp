// A disk behind the host tier of a connector: 1 ms per block over the link and on the disk.
#include <map>
#include <optional>

#include "tests/engine/support/engine_world.hpp"
#include "tests/support/catch.hpp"
#include "workers/backends/sim/disk_model.hpp"
#include "workers/backends/sim/link_copier.hpp"

using namespace support;
using namespace std::chrono_literals;
using engine::KvEventKind;
using engine::Nanos;

namespace {

struct Devices {
  backends::LinkCopier link{{1, 1, 1, false, 1'000'000}};
  backends::DiskModel disk{{1, 1, 0, 32, 1'000'000}};
};

/// A pool of four blocks, and host memory of as many as given.
struct DiskWorld : Devices, EngineWorld {
  DiskWorld(int host_blocks, int disk_blocks)
      : EngineWorld(config(host_blocks, disk_blocks, disk), &link) {}
  static EngineWorldConfig config(int host_blocks, int disk_blocks, engine::BlockDisk& disk) {
    return {.engine = {
                .kv = {5, 16, true},
                .scheduler = {.max_num_batched_tokens = 64, .max_num_seqs = 4, .max_model_len = 64},
                .tier = {.kind = engine::TierKind::offload,
                         .host_blocks = host_blocks,
                         .disk = disk_blocks > 0 ? &disk : nullptr,
                         .disk_blocks = disk_blocks}}};
  }
  /// Runs the turn alone, and copies to their end.
  engine::Request serve(const Tokens& prompt) {
    const engine::RequestId id = submit(prompt, 1);
    std::optional<engine::Request> served;
    while (!served || engine.copying()) {
      const engine::StepTrace& trace = engine.step();
      for (const auto& event : trace.kv_events) blocks[event.kind] += event.blocks;
      for (const engine::Request* request : trace.finished)
        if (request->id == id) served = *request;
    }
    return *served;
  }
  std::map<KvEventKind, int> blocks;
};

const Tokens kA = tokens(33, 1), kB = tokens(50, 2), kC = tokens(33, 3);

}  // namespace

TEST_CASE("what leaves host memory is read back from the disk, and then loaded", "[disk]") {
  DiskWorld world(3, 16);
  world.serve(kA);  // two blocks
  world.serve(kB);  // three, which take the place of a's
  const engine::Request again = world.serve(kA);
  CHECK((again.prefix_hit_tokens == 0 && again.host_hit_tokens == 32));
  CHECK(again.disk_hit_tokens == 32);
  CHECK(again.time.load_stall == 6ms);  // two of b written, two read, and two loaded
}

TEST_CASE("without a disk what leaves host memory is computed again", "[disk]") {
  DiskWorld world(3, 0);
  world.serve(kA);
  world.serve(kB);
  const engine::Request again = world.serve(kA);
  CHECK((again.host_hit_tokens == 0 && again.disk_hit_tokens == 0));
}

TEST_CASE("what host memory still has is not read from the disk", "[disk]") {
  DiskWorld world(4, 16);
  world.serve(kA);
  world.serve(kB);  // host memory keeps the first block of a
  const engine::Request again = world.serve(kA);
  CHECK((again.host_hit_tokens == 32 && again.disk_hit_tokens == 16));
}

TEST_CASE("a disk keeps what was used last", "[disk]") {
  DiskWorld world(3, 2);
  for (const Tokens* turn : {&kA, &kB, &kC}) world.serve(*turn);  // b's last blocks follow a's
  CHECK(world.serve(kA).disk_hit_tokens == 0);
}

TEST_CASE("turns that do not fit host memory together are read from the disk one after another",
          "[disk]") {
  DiskWorld world(2, 16);
  for (const Tokens* turn : {&kA, &kC}) CHECK(world.serve(*turn).disk_hit_tokens == 0);
  for (const Tokens* turn : {&kA, &kC, &kA}) {
    world.serve(kB);  // takes all blocks of the pool, and is too long for host memory
    CHECK(world.serve(*turn).disk_hit_tokens == 32);
  }
  CHECK(world.blocks[KvEventKind::disk_store] == 4);  // each block once
  CHECK(world.blocks[KvEventKind::disk_load] == 6);
}

TEST_CASE("a store waits until the disk has what was in its slots", "[disk]") {
  Devices slow{.disk = backends::DiskModel({1, 0.01, 0, 32, 1'000'000})};
  EngineWorld world(DiskWorld::config(2, 16, slow.disk), &slow.link);
  world.run_until_finished(world.submit(kA, 1));
  while (world.engine.copying()) world.engine.step();
  world.run_until_finished(world.submit(kC, 1));
  const Nanos ended = world.clock.now();
  while (world.engine.copying()) world.engine.step();
  CHECK(world.clock.now() - ended > 150ms);  // 200 ms from the step that decided it
}
