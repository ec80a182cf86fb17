// Which content leaves host memory first: by the version of vLLM's OffloadingConnector, and where
// each copy is a use. The scenarios of the latter are those of vLLM's offloading manager, where its
// rules apply. M3 does not (a store that does not fit whole stores the part that fits). M7 and M8
// belong to the tier.
#include "workers/engine/cache/host_store.hpp"

#include <map>

#include "tests/engine/support/host_slots.hpp"
#include "tests/engine/support/tokens.hpp"
#include "tests/support/catch.hpp"

using engine::ContentId;
using engine::HostSlot;
using support::Ids;
using support::numbers;
using support::tokens;

namespace {

/// Room for eight blocks; a context is a range of the contents 1 to 16.
class Store {
 public:
  explicit Store(bool by_touches, bool arc = false)
      : store_(8, arc, nullptr, numbers_, 0,
               by_touches ? engine::HostUses::by_touches : engine::HostUses::by_requests) {
    numbers_.number_contents(contents_, engine::hash_blocks(support::tokens(16), 1), 16);
  }
  std::span<const ContentId> range(int first, int end) const {
    return std::span<const ContentId>(contents_).subspan(static_cast<std::size_t>(first - 1),
                                                         static_cast<std::size_t>(end - first));
  }
  /// A turn computes its context in two steps, [first, middle) and [middle, end), stores both and
  /// ends.
  void serve(int first, int middle, int end) {
    engine::HostUse use;
    store_.touch(range(first, end));  // by the look-up
    offer(first, middle, 0, use);
    store_.touch(range(first, end));
    written(first, middle);
    offer(middle, end, middle - first, use);
    store_.touch(range(first, end));
    written(middle, end);
    store_.finish(range(first, end), use);
  }
  /// A turn stores its context and ends, once its job has been given up.
  void serve_and_give_up(int first, int end) {
    engine::HostUse use;
    offer(first, end, 0, use);
    written(first, end);
    for (const ContentId content : range(first, end)) store_.evict_next(content, engine::JobId{});
    store_.finish(range(first, end), use);
  }
  /// Looks the context up again.
  void look_up(int first, int end) { store_.touch(range(first, end)); }
  /// Contents in the order in which they would leave.
  Ids order(bool frequent = false) const {
    Ids found;
    for (const engine::HostSlot slot : store_.order(frequent))
      for (int content = 1; content <= 16; ++content)
        if (slots_[content] == slot && store_.find(range(content, content + 1)[0]) != nullptr)
          found.push_back(static_cast<std::uint32_t>(content));
    return found;
  }

 private:
  void offer(int first, int end, int position, engine::HostUse& use) {
    const auto taken = store_.offer(range(first, end), position, {}, use, {});
    for (const auto& stored : taken.value())
      slots_[first + stored.position - position] = stored.slot;
  }
  void written(int first, int end) {
    for (int content = first; content < end; ++content) store_.end_write(slots_[content]);
  }

  engine::PrefixCache numbers_{2};
  std::vector<ContentId> contents_;
  engine::HostStore store_;
  engine::HostSlot slots_[17] = {};
};

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
      if (pool.knows(content(name))) continue;
      const auto slot = pool.reserve(content(name));
      if (!slot) continue;
      taken.push_back(*slot);
      last_[name] = *slot;
    }
    return numbers(taken);
  }
  void end_store(std::initializer_list<int> names) {
    for (const int name : names) pool.end_write(last_.at(name));
  }
  void store(std::initializer_list<int> names) {
    begin_store(names);
    end_store(names);
  }
  bool has(int name) const { return pool.has(content(name)); }
  void begin_load(int name) { pool.begin_read(content(name)); }
  void end_load(int name, bool intact = true) { pool.end_read(last_.at(name), intact); }
  void lose(int name) { pool.end_write(last_.at(name), false); }
  void touch(int name) {
    begin_load(name);
    end_load(name);
  }

  engine::PrefixCache contents{2};
  support::HostSlots pool{4, contents};

 private:
  std::map<int, HostSlot> last_;
};

}  // namespace

TEST_CASE("under vLLM 0.33 the end of the context used least recently leaves first",
          "[host_store]") {
  Store store(false);
  store.serve(1, 3, 5);
  store.serve(5, 7, 9);
  CHECK(store.order() == Ids{4, 3, 2, 1, 8, 7, 6, 5});
  store.look_up(1, 5);  // alone is no use
  CHECK(store.order() == Ids{4, 3, 2, 1, 8, 7, 6, 5});
}

TEST_CASE(
    "ARC of vLLM 0.26 counts each look-up and store, and evicts from the list that is too long",
    "[host_store]") {
  Store store(true, true);
  store.serve(1, 3, 5);  // the second store uses what the first has stored
  CHECK((store.order() == Ids{4, 3} && store.order(true) == Ids{2, 1}));
  store.look_up(1, 5);
  CHECK((store.order().empty() && store.order(true) == Ids{4, 3, 2, 1}));
  store.serve(5, 9, 11);
  CHECK((store.order() == Ids{10, 9} && store.order(true) == Ids{4, 3, 2, 1, 6, 5}));
  store.serve(11, 13, 15);
  CHECK((store.order() == Ids{14, 13} && store.order(true) == Ids{3, 2, 1, 6, 5, 11}));
}

TEST_CASE("what was chosen to leave next stays so when its turn ends", "[host_store]") {
  Store store(false);
  store.serve(1, 3, 5);
  store.serve_and_give_up(5, 9);
  CHECK(store.order() == Ids{8, 7, 6, 5, 4, 3, 2, 1});
}

TEST_CASE("under vLLM 0.26 what a turn stored last leaves behind the start of its context",
          "[host_store]") {
  Store store(true);
  store.serve(1, 3, 5);
  CHECK(store.order() == Ids{2, 1, 3, 4});
  store.serve(5, 7, 9);
  CHECK(store.order() == Ids{2, 1, 3, 4, 6, 5, 7, 8});
  store.look_up(1, 5);
  CHECK(store.order() == Ids{6, 5, 7, 8, 4, 3, 2, 1});
}

TEST_CASE("content is found once its copy has arrived, not before", "[host_store]") {
  Slots slots;
  CHECK(slots.begin_store({1, 2}) == Ids{0, 1});
  CHECK_FALSE((slots.has(1) || slots.has(2)));
  slots.end_store({1, 2});
  CHECK((slots.has(1) && slots.has(2)));
  CHECK_FALSE(slots.has(3));
}

TEST_CASE("a store takes empty slots first, then the oldest content's, and leaves its own",
          "[host_store]") {
  Slots slots;
  slots.store({1, 2});
  CHECK(slots.begin_store({2, 3, 4, 5}) == Ids{2, 3, 0});
  CHECK_FALSE(slots.has(1));
  CHECK(slots.has(2));
}

TEST_CASE("content that is being copied is never evicted", "[host_store]") {
  Slots slots;
  slots.store({1, 2});
  slots.begin_store({3, 4, 5});
  CHECK(slots.begin_store({6, 7}) == Ids{1});  // the slot of 2; no other can leave
  slots.end_store({3, 4, 5});
  CHECK((slots.has(3) && slots.has(4) && slots.has(5)));
}

TEST_CASE("content that is being loaded stays", "[host_store]") {
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

TEST_CASE("what was used last is evicted last", "[host_store]") {
  Slots slots;
  slots.store({5, 6, 7, 8});
  for (const int name : {5, 6, 7}) slots.touch(name);
  slots.store({9});
  CHECK_FALSE(slots.has(8));
  CHECK((slots.has(5) && slots.has(6) && slots.has(7) && slots.has(9)));
}

TEST_CASE("a store that fails leaves nothing, and takes nothing more", "[host_store]") {
  Slots slots;
  slots.store({6, 7, 8, 5});
  slots.begin_store({9});
  slots.lose(9);
  CHECK_FALSE((slots.has(9) || slots.has(6)));
  CHECK((slots.has(7) && slots.has(8) && slots.has(5)));
  CHECK(slots.pool.room() == 1);
}

TEST_CASE("content that did not arrive, was lost or was evicted can be stored again") {
  Slots slots;
  slots.begin_store({1});
  slots.lose(1);
  slots.store({2});
  slots.begin_load(2);
  slots.end_load(2, false);
  slots.store({3, 4, 5, 6});
  slots.store({7});
  for (const int name : {1, 2, 3}) {
    INFO("content " << name);
    REQUIRE_FALSE((slots.has(name) || slots.pool.knows(Slots::content(name))));
    slots.store({name});
    CHECK(slots.has(name));
  }
  CHECK(slots.pool.num_used() == 4);
}

TEST_CASE("content that one reader found unreadable is found by none, and leaves with the last") {
  Slots slots;
  slots.store({1});
  slots.begin_load(1);
  slots.begin_load(1);
  slots.end_load(1, false);
  CHECK_FALSE(slots.has(1));
  CHECK(slots.pool.num_used() == 1);
  slots.end_load(1);
  CHECK(slots.pool.num_used() == 0);
}
