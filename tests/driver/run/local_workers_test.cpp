#include "driver/run/workers.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <set>

#include "driver/farm/farm.hpp"
#include "tests/support/catch.hpp"
#include "workers/rank/host.hpp"
#include "workers/rank/worker_loop.hpp"

using namespace driver;
using worker::CellContext;

namespace {

/// Holds cells back until every worker of the start has said hello. Otherwise a busy machine may
/// let some of them do all cells before another one has begun.
class Gate {
 public:
  explicit Gate(int workers) : missing_(workers) { REQUIRE(::pipe2(ends_, O_CLOEXEC) == 0); }
  ~Gate() {
    if (missing_ > 0) ::close(ends_[1]);
    ::close(ends_[0]);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// In the driver, for each hello.
  void count() {
    if (--missing_ == 0) ::close(ends_[1]);
  }
  /// In a worker, first of all.
  void leave_to_driver() const {
    if (missing_ > 0) ::close(ends_[1]);
  }
  /// In a worker. Reads the end of the pipe, which comes when all ends for writing are closed.
  void pass() const {
    char none;
    while (::read(ends_[0], &none, 1) < 0 && errno == EINTR) {
    }
  }

 private:
  int ends_[2];
  int missing_;
};

/// Remembers what it was told.
struct Notes : FarmSink {
  Gate* gate = nullptr;
  std::map<int, std::string> results;
  std::map<int, std::string> verdicts;
  std::vector<std::string> ended_attempts;
  std::vector<int> deaths;  // as told at each start
  std::set<int> processes;

  std::string config_of(const std::vector<int>& cells) override {
    return std::to_string(cells.front());
  }
  void on_worker(int, const worker::Hello& hello) override {
    processes.insert(static_cast<int>(hello.pid));
    if (gate != nullptr) gate->count();
  }
  void on_start(const AssignCell& start, const worker::Hello&) override {
    deaths.push_back(start.deaths);
  }
  void on_done(sweep::Attempt attempt, const worker::Hello&, std::string&& result) override {
    CHECK(results.emplace(attempt.cell, std::move(result)).second);
  }
  void on_attempt_ended(const AttemptEnded& ended) override {
    ended_attempts.push_back(std::to_string(ended.attempt.cell) + "/" +
                             std::to_string(ended.attempt.number) + ", " +
                             std::to_string(ended.deaths) + " deaths: " + ended.reason);
  }
  void on_ended(const CellEnded& ended) override {
    verdicts[ended.attempt.cell] = std::string(sweep::to_text(ended.kind)) + ": " + ended.reason;
  }
};

/// Runs cells of which the first kills its process while the second runs in another one.
struct KilledBesideAnother : Notes {
  std::pair<sweep::Descriptor, sweep::Descriptor> second_runs = sweep::make_pipe(),
                                                  first_ended = sweep::make_pipe();

  std::string run(const std::string& config, const CellContext& context) const {
    if (context.attempt.number > 1) return config;
    if (config == "0" && !second_runs.first.read(1).empty()) ::raise(SIGKILL);
    if (config == "1") {
      second_runs.second.write(".");
      first_ended.first.read(1);
    }
    return config;
  }
  void on_attempt_ended(const AttemptEnded& ended) override {
    Notes::on_attempt_ended(ended);
    if (ended.attempt.cell == 0) first_ended.second.write(".");
  }
};

worker::Hello this_process() {
  worker::Hello hello{.host = "here", .memory_gib = 64, .backend = "sim"};
  hello.pid = ::getpid();
  return hello;
}

/// Drives `workers` processes, all of which have begun before a cell ends. Each calls
/// `before_hello`.
FarmResult run_with(
    int workers, int cells, Notes& sink, const worker::RunCell& run_cell,
    const std::function<void()>& before_hello = [] {}) {
  Gate gate(workers);
  sink.gate = &gate;
  const worker::RunCell run_behind_gate = [&](const std::string& config,
                                              const CellContext& context) {
    gate.pass();
    return run_cell(config, context);
  };
  LocalWorkers processes(workers, [&](worker::Channel& channel) {
    gate.leave_to_driver();
    before_hello();
    engine::WallClock clock;
    worker::run_worker(channel, clock, this_process(), run_behind_gate, {});
    return 0;
  });
  std::vector<CellTask> tasks;
  for (int i = 0; i < cells; ++i) tasks.push_back({.cell = i, .sku = "h100-80gb", .estimate_s = 1});
  FarmOptions options{.rules = {.backend = "sim"}, .workers = processes.numbers()};
  const engine::WallClock clock;
  return run_farm(processes, clock, tasks, sink, options);
}

}  // namespace

TEST_CASE("processes of this machine do each cell once") {
  Notes notes;
  const FarmResult result =
      run_with(3, 100, notes, [](const std::string& config, const CellContext&) {
        return "ran " + config + " in " + std::to_string(::getpid());
      });
  CHECK(result.done == 100);
  CHECK(result.stuck_workers.empty());
  CHECK(notes.processes.size() == 3);
  CHECK_FALSE(notes.processes.contains(::getpid()));
  CHECK(notes.results.at(7).starts_with("ran 7 in "));
}

TEST_CASE(
    "a cell that crashes its process twice is quarantined, and the others are done meanwhile") {
  const int workers = GENERATE(1, 2);
  Notes notes;
  const FarmResult result =
      run_with(workers, 20, notes, [](const std::string& config, const CellContext&) {
        if (config == "4") ::raise(SIGSEGV);
        return config;
      });
  CHECK(result.done == 19);
  CHECK(result.left.empty());
  CHECK(exit_code(result) == kSomeCellsFailed);
  CHECK(notes.ended_attempts ==
        std::vector<std::string>{
            "4/1, 1 deaths: its worker on here was lost to signal 11 (Segmentation fault)"});
  CHECK(notes.verdicts.at(4) ==
        "quarantined: killed its process 2 times; its worker on here was lost to signal 11 "
        "(Segmentation fault)");
  CHECK(std::ranges::count(notes.deaths, 1) == 1);
  CHECK(std::ssize(notes.processes) == workers + 2);  // two successors
}

TEST_CASE("a process that others kill while another cell runs counts against no cell") {
  struct WithSuccessor : KilledBesideAnother {
    Gate hellos{3};
    void on_worker(int number, const worker::Hello& hello) override {
      Notes::on_worker(number, hello);
      hellos.count();
    }
  } notes;
  const FarmResult result = run_with(
      2, 20, notes,
      [&](const std::string& config, const CellContext& context) {
        if (config != "0" && config != "1") notes.hellos.pass();
        return notes.run(config, context);
      },
      [&] { notes.hellos.leave_to_driver(); });
  CHECK(result.done == 20);
  CHECK(std::ranges::count(notes.deaths, 0) == 21);
  CHECK(notes.processes.size() == 3);
}

TEST_CASE("what else ran is judged when a process dies, not when its successor is ready") {
  constexpr int kOthers = 19;
  struct Results : KilledBesideAnother {
    Gate others{kOthers};
    void on_done(sweep::Attempt attempt, const worker::Hello& by, std::string&& result) override {
      Notes::on_done(attempt, by, std::move(result));
      if (results.size() <= kOthers) others.count();
    }
  } notes;
  const FarmResult result = run_with(
      2, kOthers + 1, notes,
      [&](const std::string& config, const CellContext& context) {
        return notes.run(config, context);
      },
      [&] {
        notes.others.leave_to_driver();
        if (notes.processes.size() == 2) notes.others.pass();  // the successor
      });
  CHECK(result.done == kOthers + 1);
  CHECK(std::ranges::count(notes.deaths, 0) == kOthers + 2);
  CHECK(notes.processes.size() == 3);
}

TEST_CASE("processes that have said goodbye end in their own time, before the run does") {
  auto [from, to] = sweep::make_pipe();
  auto run = sweep::make_pipe();  // whose end for writing is closed when the run is over
  {
    LocalWorkers processes(2, [&](worker::Channel& channel) {
      run.second.close();
      engine::WallClock clock;
      worker::run_worker(channel, clock, this_process(),
                         [](const std::string& config, const CellContext&) { return config; });
      run.first.read();  // as a server may take time to end
      to.write("ended;");
      return 0;
    });
    Notes notes;
    FarmOptions options{.rules = {.backend = "sim"}, .workers = processes.numbers()};
    run_farm(processes, engine::WallClock(), {}, notes, options);
    run.second.close();
  }
  to.close();
  CHECK(from.read() == "ended;ended;");
}

TEST_CASE("processes that end before they can work leave the cells, and the run ends") {
  LocalWorkers processes(2, [](worker::Channel&) { return 1; });
  Notes notes;
  FarmOptions options{.rules = {.backend = "sim"}, .workers = processes.numbers()};
  const engine::WallClock clock;
  const FarmResult result = run_farm(
      processes, clock, {{.cell = 0, .sku = "h100-80gb", .estimate_s = 1}}, notes, options);
  CHECK(result.done == 0);
  CHECK(result.left.size() == 1);
}
