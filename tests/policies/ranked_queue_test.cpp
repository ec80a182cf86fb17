#include "workers/policies/order/ranked_queue.hpp"

#include "tests/engine/support/fuzz_case.hpp"
#include "tests/policies/requests.hpp"
#include "tests/support/catch.hpp"

using engine::Request;

namespace {

struct Before {
  bool operator()(const Request& a, const Request& b) const {
    return std::pair(a.spec.priority, a.id) < std::pair(b.spec.priority, b.id);
  }
};

using Queue = policies::RankedQueue<Before>;

}  // namespace

TEST_CASE("an empty ranked queue has no front", "[ranked_queue]") {
  const Queue queue{Before{}};
  CHECK(queue.front() == nullptr);
  CHECK(queue.size() == 0);
}

TEST_CASE("a request with a changed rank moves up or down", "[ranked_queue]") {
  Queue queue{Before{}};
  policy_test::Requests requests;
  for (const int priority : {1, 2, 3}) queue.push(requests.make({.priority = priority}));
  requests[2].spec.priority = 0;
  queue.update(requests[2]);
  CHECK(queue.front() == &requests[2]);
  requests[2].spec.priority = 9;
  queue.update(requests[2]);
  CHECK(queue.front() == &requests[0]);
}

TEST_CASE("a ranked queue agrees with sorting through random changes", "[ranked_queue]") {
  support::Dice dice(3);
  Queue queue{Before{}};
  policy_test::Requests requests;
  std::vector<const Request*> waiting;
  for (int i = 0; i < 64; ++i) requests.make({.priority = dice.between(0, 9)});
  for (int i = 0; i < 20'000; ++i) {
    Request& r = requests[static_cast<std::size_t>(dice.between(0, 63))];
    const auto at = std::ranges::find(waiting, &r);
    if (at == waiting.end()) {
      waiting.push_back(&r);
      queue.push(r);
    } else if (dice.one_in(2)) {
      waiting.erase(at);
      queue.remove(r);
    } else {
      r.spec.priority = dice.between(0, 9);
      queue.update(r);
    }
    std::ranges::sort(waiting, [](const auto* a, const auto* b) { return Before{}(*a, *b); });
    REQUIRE(queue.size() == static_cast<int>(waiting.size()));
    REQUIRE(queue.front() == (waiting.empty() ? nullptr : waiting.front()));
    if (i % 64 == 0) REQUIRE(queue.in_service_order() == waiting);
  }
}
