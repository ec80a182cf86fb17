#include "tests/policies/requests.hpp"
#include "tests/support/catch.hpp"

using engine::from_seconds;

namespace {

struct AttainedService : policy_test::OrderWorld {
  explicit AttainedService(const std::string& service_of = "program")
      : OrderWorld({.order = "attained_service", .parameters = {{"service_of", service_of}}}) {}

  /// A turn of the job has ended.
  void served(int job, double seconds, double queued_s = 0) {
    engine::Request& request = requests.make({.job = job});
    request.time.decode = from_seconds(seconds);
    request.time.queue = from_seconds(queued_s);
    order->on_turn_end(request, engine::Nanos{0});
  }
  void wait_from(int job, double arrival_s) {
    wait({.job = job, .turn = 1, .arrival_s = arrival_s}).last_seen = from_seconds(arrival_s);
  }
  void begin_step(double now_s) { order->begin_step(from_seconds(now_s), cache); }
  /// Jobs in the order of service.
  std::string jobs() const {
    std::string names;
    for (const engine::Request* r : order->in_service_order())
      names += static_cast<char>('a' + engine::index(r->spec.job));
    return names;
  }

  engine::PrefixCache cache{1};
};

}  // namespace

TEST_CASE("programs that have been served least go first, by queues", "[attained_service]") {
  AttainedService world;
  world.served(0, 3.0);
  world.served(1, 0.5);
  world.served(2, 1.9);
  for (const int job : {0, 1, 2}) world.wait_from(job, job);
  CHECK(world.jobs() == "bca");
}

TEST_CASE("within a queue turns are served as they came", "[attained_service]") {
  AttainedService world;
  world.served(0, 1.9);
  world.served(1, 1.0);
  for (const int job : {0, 1}) world.wait_from(job, job);
  CHECK(world.jobs() == "ab");
}

TEST_CASE("a turn joins the first queue when its program has waited eight times its service",
          "[attained_service]") {
  AttainedService world;
  world.served(0, 1.0, 4.0);
  world.served(0, 2.0, 10.0);
  world.served(1, 0.5);
  world.served(2, 1.9);
  for (const int job : {0, 1, 2}) world.wait_from(job, 20);
  world.begin_step(29.9);  // 23.9 s
  CHECK(world.jobs() == "bca");
  world.begin_step(30);
  CHECK(world.jobs() == "bac");
}

TEST_CASE("the turn that would be served last is preempted", "[attained_service]") {
  AttainedService world;
  world.served(0, 3.0);
  for (const int job : {0, 1}) {
    world.wait_from(job, job);
    engine::Request& request = world.requests[world.requests.size() - 1];
    world.order->remove(request);
    world.running.push_back(request);
  }
  CHECK(world.preempt() == "1");
}

TEST_CASE("of a program's path, subagents side by side count once", "[attained_service]") {
  for (const std::string service_of : {"program", "path"}) {
    AttainedService world(service_of);
    const engine::JobId root{0};
    const auto turn = [&](int job, int number, double seconds, bool last = false) {
      engine::Request& request = world.requests.make({.job = job, .turn = number, .last = last});
      if (job != 0 && job < 3) request.spec.subagent_of = root;
      world.order->push(request);
      world.order->remove(request);
      request.time.decode = from_seconds(seconds);
      world.order->on_turn_end(request, engine::Nanos{0});
    };
    turn(0, 0, 1);
    turn(1, 0, 1.5, true);  // two subagents, 2.5 s each from the program's start
    turn(2, 0, 1.5, true);
    turn(3, 0, 3);
    world.wait_from(0, 0);
    world.wait_from(3, 1);
    // The program has had 4 s in all, 2.5 s along its path, and the other job 3 s.
    CHECK(world.jobs() == (service_of == "path" ? "ad" : "da"));
  }
}
