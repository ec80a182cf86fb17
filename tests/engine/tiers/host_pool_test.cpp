// The host pool: hits and evictions. The scenarios are those of vLLM's offloading manager, where
// its rules apply. M3 does not (a store that does not fit whole stores the part that fits). M7 and
// M8 belong to the tier.
#include "workers/engine/cache/host_pool.hpp"

#include <map>

#include "tests/engine/support/tokens.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using engine::ContentId;
using engine::HostPool;
using engine::HostSlot;

namespace {

/// Four slots, and content named by a number.
struct Slots {
  Slots() {
    std::vector<ContentId> numbered;  // 1 to 9
    contents.number_contents(numbered, engine::hash_blocks(tokens(9), 1), 9);
  }
  static ContentId content(int name) { return ContentId{static_cast<std::uint32_t>(name)}; }

  /// Reserves a slot for each name that is neither stored nor expected; returns the slots.
  Ids begin_store(std::initializer_list<int> names) {
    std::vector<HostSlot> taken;
    for (const int name : names) {
      if (pool.has_or_expects(content(name)) || pool.num_free() == 0) continue;
      taken.push_back(pool.reserve(content(name), {}).slot);
      last_[name] = taken.back();
    }
    return numbers(taken);
  }
  void end_store(std::initializer_list<int> names) {
    for (const int name : names) pool.publish(last_.at(name));
  }
  void store(std::initializer_list<int> names) {
    begin_store(names);
    end_store(names);
  }
  bool has(int name) const { return pool.find(content(name)).has_value(); }
  void begin_load(int name) { pool.hold(*pool.find(content(name))); }
  void end_load(int name) { pool.release(*pool.find(content(name))); }
  void touch(int name) {
    begin_load(name);
    end_load(name);
  }

  engine::PrefixCache contents{2};
  HostPool pool{4, contents};

 private:
  std::map<int, HostSlot> last_;

 public:
  HostSlot slot_of(int name) const { return last_.at(name); }
};

}  // namespace

TEST_CASE("content is found once its copy has arrived, not before", "[M1]") {
  Slots slots;
  CHECK(slots.begin_store({1, 2}) == Ids{0, 1});
  CHECK_FALSE((slots.has(1) || slots.has(2)));
  slots.end_store({1, 2});
  CHECK((slots.has(1) && slots.has(2)));
  CHECK_FALSE(slots.has(3));
}

TEST_CASE("a store takes empty slots first, then the oldest content's, and leaves its own",
          "[M2]") {
  Slots slots;
  slots.store({1, 2});
  CHECK(slots.begin_store({2, 3, 4, 5}) == Ids{2, 3, 0});
  CHECK_FALSE(slots.has(1));
  CHECK(slots.has(2));
}

TEST_CASE("content that is being copied is never evicted", "[M3]") {
  Slots slots;
  slots.store({1, 2});
  slots.begin_store({3, 4, 5});
  CHECK(slots.pool.num_free() == 1);
  CHECK(slots.begin_store({6, 7}) == Ids{1});  // the slot of 2; no other is free
  slots.end_store({3, 4, 5});
  CHECK((slots.has(3) && slots.has(4) && slots.has(5)));
}

TEST_CASE("content that is being loaded stays", "[M4]") {
  Slots slots;
  slots.store({2, 3, 4, 5});
  slots.begin_load(2);
  slots.begin_load(3);
  slots.begin_store({6, 7, 8});
  CHECK((slots.has(2) && slots.has(3)));
  CHECK_FALSE((slots.has(4) || slots.has(5)));
  slots.end_load(2);
  slots.end_load(3);
  CHECK(slots.begin_store({8}).size() == 1);
  CHECK_FALSE(slots.has(2));
}

TEST_CASE("what was used last is evicted last", "[M5]") {
  Slots slots;
  slots.store({5, 6, 7, 8});
  for (const int name : {5, 6, 7}) slots.touch(name);
  slots.store({9});
  CHECK_FALSE(slots.has(8));
  CHECK((slots.has(5) && slots.has(6) && slots.has(7) && slots.has(9)));
}

TEST_CASE("a store that fails leaves nothing, and takes nothing more", "[M6]") {
  Slots slots;
  slots.store({6, 7, 8, 5});
  slots.begin_store({9});
  slots.pool.abandon(slots.slot_of(9));
  CHECK_FALSE((slots.has(9) || slots.has(6)));
  CHECK((slots.has(7) && slots.has(8) && slots.has(5)));
  CHECK(slots.pool.num_free() == 4);
}

TEST_CASE("content that did not arrive, was lost or was evicted can be stored again") {
  Slots slots;
  slots.begin_store({1});
  slots.pool.abandon(slots.slot_of(1));
  slots.store({2});
  slots.pool.unpublish(slots.slot_of(2));
  slots.store({3, 4, 5, 6});
  slots.store({7});
  for (const int name : {1, 2, 3}) {
    INFO("content " << name);
    REQUIRE_FALSE((slots.has(name) || slots.pool.has_or_expects(Slots::content(name))));
    slots.store({name});
    CHECK(slots.has(name));
  }
  CHECK(slots.pool.num_published() == 4);
}
