#include "workers/engine/cache/disk_store.hpp"

#include <algorithm>
#include <vector>

#include "tests/engine/support/fuzz_case.hpp"
#include "tests/engine/support/seeds.hpp"
#include "tests/support/catch.hpp"

using engine::ContentId;
using engine::DiskStore;
using engine::TurnRef;

namespace {

ContentId content(int name) { return ContentId{static_cast<std::uint32_t>(name)}; }
TurnRef owner(int name) { return {engine::JobId{static_cast<std::uint32_t>(name)}, 0}; }

}  // namespace

TEST_CASE("the content of the disk that was used least recently makes room, and its owner is told",
          "[disk]") {
  DiskStore disk(3);
  for (const int name : {1, 2, 3}) CHECK_FALSE(disk.insert(content(name), owner(name)));
  CHECK(disk.use(content(1)));
  CHECK(disk.insert(content(4), owner(4)) == owner(2));
  CHECK_FALSE(disk.use(content(2)));
  CHECK((disk.contains(content(1)) && disk.contains(content(3)) && disk.contains(content(4))));
}

TEST_CASE("when a content was written is forgotten when it leaves the disk", "[disk]") {
  DiskStore disk(1);
  disk.insert(content(1), owner(1));
  disk.set_written(content(1), engine::Nanos{7});
  CHECK(disk.written(content(1)) == engine::Nanos{7});
  disk.insert(content(2), owner(2));
  disk.set_written(content(1), engine::Nanos{9});
  CHECK(disk.written(content(1)) == engine::Nanos{0});
}

TEST_CASE("the disk holds what a naive list in order of use holds", "[disk][fuzz]") {
  support::for_each_seed(200, [](std::uint64_t seed) {
    support::Dice dice(seed);
    const int capacity = dice.between(1, 8);
    DiskStore disk(capacity);
    std::vector<int> naive;  // the next to leave first
    for (int i = 0; i < 300; ++i) {
      const int name = dice.between(1, 12);
      const bool known = std::erase(naive, name) > 0;
      if (disk.use(content(name)) != known) throw std::logic_error("one of both has the content");
      if (!known) {
        const auto left = disk.insert(content(name), owner(name));
        const bool full = static_cast<int>(naive.size()) == capacity;
        if (left != (full ? std::optional(owner(naive.front())) : std::nullopt))
          throw std::logic_error("another content leaves");
        if (full) naive.erase(naive.begin());
      }
      naive.push_back(name);
      if (disk.num_used() != std::ssize(naive)) throw std::logic_error("the sizes differ");
    }
  });
}
