#include "workers/backends/sim/disk_model.hpp"

#include <vector>

#include "tests/support/catch.hpp"

using namespace std::chrono_literals;
using engine::Nanos;

namespace {

/// A block takes 1 ms to read and 2 ms to write.
backends::DiskModel disk(double latency_us, std::int64_t queue) {
  return backends::DiskModel({1, 0.5, latency_us, queue, 1'000'000});
}
std::vector<engine::DiskCopy> blocks(int count) {
  return std::vector<engine::DiskCopy>(static_cast<std::size_t>(count));
}

}  // namespace

TEST_CASE("a batch takes the disk's latency once, and then what its bytes take", "[disk]") {
  auto one = disk(100, 32);
  CHECK(one.read(blocks(4), 1ms) == 5100us);
  CHECK(one.write(blocks(4), 1ms) == 9100us);
}

TEST_CASE("blocks that the queue has no room for wait for others where that takes longer",
          "[disk]") {
  CHECK(disk(5000, 2).read(blocks(4), 0ms) == 10ms);
  CHECK(disk(5000, 2).read(blocks(5), 0ms) == 15ms);
  CHECK(disk(5000, 8).read(blocks(8), 0ms) == 13ms);
}

TEST_CASE("each direction of the disk serves one batch after another, beside the other direction",
          "[disk]") {
  auto one = disk(0, 32);
  CHECK(one.read(blocks(3), 0ms) == 3ms);
  CHECK(one.write(blocks(1), 0ms) == 2ms);
  CHECK(one.read(blocks(1), 1ms) == 4ms);
  CHECK(one.read(blocks(1), 9ms) == 10ms);
}
