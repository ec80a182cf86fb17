// A driver of many workers, on a clock that jumps from message to message.
#include <ctime>
#include <queue>

#include "driver/farm/farm.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using namespace driver;
using std::chrono::seconds;

namespace {

constexpr auto kBeat = seconds(1);

/// Workers that take 60 to 79 s for a cell and send a heartbeat every second meanwhile.
class SimulatedWorkers : public worker::Channel {
 public:
  SimulatedWorkers(int count, engine::VirtualClock& clock) : clock_(clock) {
    for (int i = 1; i <= count; ++i) {
      worker::Hello hello{.host = "node" + std::to_string(i / 8), .backend = "sim"};
      hello.memory_gib = 64;
      sends(Nanos{0}, i, hello);
    }
  }

  void send(int to, const worker::Message& message) override {
    if (std::holds_alternative<worker::Stop>(message)) sends(clock_.now(), to, worker::Goodbye{});
    const auto* work = std::get_if<worker::Assign>(&message);
    if (work == nullptr) return;
    const auto takes = seconds(60 + work->attempt.cell % 20);
    busy_ += takes;
    for (Nanos beat = kBeat; beat < takes; beat += kBeat) {
      worker::Heartbeat heartbeat{work->attempt, {}};
      heartbeat.progress.steps = static_cast<std::uint64_t>(beat.count());
      sends(clock_.now() + beat, to, heartbeat);
    }
    sends(clock_.now() + takes, to, worker::Done{work->attempt, "result"});
  }
  std::optional<worker::Received> poll() override {
    if (coming_.empty() || coming_.top().at > clock_.now()) return std::nullopt;
    const worker::Received received = coming_.top().received;
    coming_.pop();
    ++messages;
    return received;
  }
  void wait(Nanos longest) override {
    const Nanos until = clock_.now() + longest;
    clock_.wait_until(coming_.empty() ? until : std::min(until, coming_.top().at));
  }
  bool flush(Nanos) override { return true; }
  Nanos busy() const { return busy_; }

  int messages = 0;

 private:
  struct Coming {
    Nanos at;
    int number;
    worker::Received received;
    bool operator<(const Coming& other) const {  // the earliest is the top
      return std::pair(at, number) > std::pair(other.at, other.number);
    }
  };
  void sends(Nanos at, int from, const worker::Message& message) {
    coming_.push({at, sent_++, {from, message}});
  }

  engine::VirtualClock& clock_;
  std::priority_queue<Coming> coming_;
  int sent_ = 0;
  Nanos busy_{0};
};

struct Count : FarmSink {
  std::map<int, int> done;
  std::string config_of(const std::vector<int>&) override { return "config"; }
  void on_start(const AssignCell&, const worker::Hello&) override {}
  void on_done(sweep::Attempt attempt, const worker::Hello&, std::string&&) override {
    ++done[attempt.cell];
  }
  void on_attempt_ended(const AttemptEnded& ended) override { FAIL(ended.reason); }
  void on_ended(const CellEnded& ended) override { FAIL(ended.reason); }
};

}  // namespace

TEST_CASE("a driver keeps 1,000 workers busy, at a small part of a core") {
  const int workers = 1000, count = support::scaled(5000);
  engine::VirtualClock clock;
  SimulatedWorkers channel(workers, clock);
  std::vector<CellTask> cells;
  for (int i = 0; i < count; ++i)
    cells.push_back({.cell = i, .sku = "h100-80gb", .estimate_s = 60.0 + i % 20});
  FarmOptions options{.rules = {.backend = "sim"}, .workers = {}};
  for (int i = 1; i <= workers; ++i) options.workers.push_back(i);
  Count sink;
  const std::clock_t before = std::clock();
  const FarmResult result = run_farm(channel, clock, cells, sink, options);
  const double cpu_s = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  CHECK(result.done == count);
  CHECK(result.stuck_workers.empty());
  for (const auto& [cell, times] : sink.done) CHECK(times == 1);
  const double span_s = engine::to_seconds(clock.now());
  const double ideal_s = engine::to_seconds(channel.busy()) / workers;
  INFO(channel.messages << " messages in " << cpu_s << " s of processor time; " << span_s
                        << " s on the workers' clock, of which all work " << ideal_s << " s");
  CHECK(span_s < ideal_s + 80);  // the longest cell, at the end
  CHECK(cpu_s < span_s / 4);     // a quarter of a core, so that a busy test machine passes
}
