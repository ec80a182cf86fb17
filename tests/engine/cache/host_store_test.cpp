// Which content leaves the host memory of vLLM's OffloadingConnector first, by version.
#include "workers/engine/cache/host_store.hpp"

#include "tests/engine/support/tokens.hpp"
#include "tests/support/catch.hpp"

using engine::ContentId;
using support::Ids;

namespace {

/// Room for eight blocks; a context is a range of the contents 1 to 16.
class Store {
 public:
  explicit Store(bool by_touches) : store_(8, false, nullptr, numbers_, 0, by_touches) {
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
  /// Looks the context up again.
  void look_up(int first, int end) { store_.touch(range(first, end)); }
  /// Contents in the order in which they would leave.
  Ids order() const {
    Ids found;
    for (const engine::HostSlot slot : store_.order())
      for (int content = 1; content <= 16; ++content)
        if (slots_[content] == slot &&
            store_.state(range(content, content + 1)[0]) != engine::HostStore::State::absent)
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
    for (const ContentId content : range(first, end)) store_.end_write(content, true);
  }

  engine::PrefixCache numbers_{2};
  std::vector<ContentId> contents_;
  engine::HostStore store_;
  engine::HostSlot slots_[17] = {};
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
