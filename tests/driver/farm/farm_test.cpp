#include "driver/farm/farm.hpp"

#include <algorithm>
#include <thread>

#include "tests/support/catch.hpp"
#include "tests/support/socket_ends.hpp"
#include "workers/cell/experiment.hpp"
#include "workers/rank/worker_loop.hpp"

using namespace driver;
using std::chrono::milliseconds;
using worker::CellContext;

namespace {

/// Remembers what it was told.
struct Notes : FarmSink {
  std::map<int, std::string> results;
  std::map<int, std::pair<sweep::CellStatus, std::string>> verdicts;
  std::vector<int> starts;
  std::vector<std::string> ended_attempts;
  std::vector<FarmStatus> statuses;
  std::vector<std::optional<int>> asked_to_stop;  // the cell that ran alone
  int refuse_cell = -1;                           // its result cannot be stored

  std::string config_of(const std::vector<int>& cells) override {
    return "config of " + std::to_string(cells.front());
  }
  void on_start(const AssignCell& start, const worker::Hello&) override {
    starts.push_back(start.attempt.cell);
  }
  void on_done(sweep::Attempt attempt, const worker::Hello&, std::string&& result) override {
    if (attempt.cell == refuse_cell) throw std::runtime_error("no space left on device");
    CHECK(results.emplace(attempt.cell, std::move(result)).second);
  }
  void on_attempt_ended(const AttemptEnded& ended) override {
    ended_attempts.push_back(std::to_string(ended.attempt.cell) + "/" +
                             std::to_string(ended.attempt.number) + ": " + ended.reason);
  }
  void on_ended(const CellEnded& ended) override {
    CHECK(verdicts.emplace(ended.attempt.cell, std::pair(ended.kind, ended.reason)).second);
  }
  void on_stop_asked(std::optional<int> alone) override { asked_to_stop.push_back(alone); }
  void on_status(const FarmStatus& status) override { statuses.push_back(status); }
};

std::vector<CellTask> cells(int count) {
  std::vector<CellTask> all;
  for (int i = 0; i < count; ++i) all.push_back({.cell = i, .sku = "h100-80gb", .estimate_s = 1});
  return all;
}

FarmOptions quick() {
  FarmOptions options{.rules = {.backend = "sim"}, .workers = {}};
  options.tick = milliseconds(1);
  options.longest_sleep = milliseconds(1);
  return options;
}

const worker::Hello kHello{.host = "here", .memory_gib = 64, .backend = "sim"};

std::string echo(const std::string& config, const CellContext&) { return "ran " + config; }

std::string run_until_asked(const std::string&, const CellContext& context) {
  while (!context.stop.stop_requested()) std::this_thread::yield();
  throw worker::CellAbandoned();
}

/// Drives `workers` worker threads of this process.
FarmResult run_with(int workers, int cell_count, FarmSink& sink, const worker::RunCell& run_cell,
                    FarmOptions options = quick(),
                    const worker::WorkerOptions& worker_options = {}) {
  worker::SocketChannel driver;
  std::vector<worker::SocketChannel> ends(static_cast<std::size_t>(workers));
  engine::WallClock clock;
  std::vector<std::jthread> threads;
  for (int i = 1; i <= workers; ++i) {
    options.workers.push_back(i);
    worker::SocketChannel& end = ends[static_cast<std::size_t>(i - 1)];
    support::connect(driver, 0, end, i);
    threads.emplace_back([&] { worker::run_worker(end, clock, kHello, run_cell, worker_options); });
  }
  return run_farm(driver, clock, cells(cell_count), sink, options);
}

}  // namespace

TEST_CASE("one worker or several do each cell once") {
  const int workers = GENERATE(1, 4);
  Notes notes;
  const FarmResult result = run_with(workers, 200, notes, echo);
  CHECK(result.done == 200);
  CHECK(exit_code(result) == kOk);
  CHECK(notes.results.size() == 200);
  CHECK(notes.results[7] == "ran config of 7");
  CHECK(notes.starts.size() == 200);
  CHECK(result.stuck_workers.empty());
  const FarmStatus& last = notes.statuses.back();
  CHECK(last.done == 200);
  CHECK(last.waiting == 0);
  CHECK(last.running == 0);
}

TEST_CASE("a cell that throws is tried twice and recorded, the others are done") {
  Notes notes;
  const FarmResult result =
      run_with(3, 10, notes, [](const std::string& config, const CellContext& context) {
        if (context.attempt.cell == 4) throw std::runtime_error("attempt failed");
        return config;
      });
  CHECK(result.done == 9);
  CHECK(exit_code(result) == kSomeCellsFailed);
  CHECK(notes.verdicts.at(4).first == sweep::CellStatus::failed);
  CHECK(notes.verdicts.at(4).second == "attempt failed");
  CHECK(notes.ended_attempts == std::vector<std::string>{"4/1: attempt failed"});
  CHECK(std::count(notes.starts.begin(), notes.starts.end(), 4) == 2);
}

TEST_CASE("a cell over its timeout is stopped and recorded, the others are done") {
  Notes notes;
  FarmOptions options = quick();
  options.rules.cell_timeout = milliseconds(20);
  const FarmResult result = run_with(
      2, 6, notes,
      [](const std::string& config, const CellContext& context) {
        return context.attempt.cell == 2 ? run_until_asked(config, context) : config;
      },
      options);
  CHECK(result.done == 5);
  CHECK(notes.verdicts.at(2).first == sweep::CellStatus::timeout);
  CHECK(exit_code(result) == kSomeCellsFailed);
}

TEST_CASE(
    "a cell whose heartbeats show no progress is ended, repeated and failed, others are done") {
  Notes notes;
  FarmOptions options = quick();
  options.rules.stalled = milliseconds(20);
  const FarmResult result =
      run_with(1, 2, notes,
               [](const std::string& config, const CellContext& context) {
                 if (context.attempt.cell != 0) return config;
                 context.progress({.jobs = 3, .steps = 1, .serving = true});
                 return run_until_asked(config, context);
               },
               options, {.poll = milliseconds(1), .heartbeat = milliseconds(1)});
  CHECK(result.done == 1);
  CHECK(notes.verdicts.at(0).first == sweep::CellStatus::failed);
  CHECK(notes.verdicts.at(0).second == "made no progress for 0.02 s");
  CHECK(std::count(notes.starts.begin(), notes.starts.end(), 0) == 2);
}

TEST_CASE("one interruption lets running cells end, a second abandons them; both are incomplete") {
  Notes notes;
  FarmOptions options = quick();
  int asked = 0;
  SECTION("drain") {
    options.interruptions = [&] { return notes.results.size() >= 3 ? 1 : 0; };
    const FarmResult result = run_with(2, 50, notes, echo, options);
    CHECK(result.done >= 3);
    CHECK(result.done <= 5);
    CHECK(result.left.size() == 50u - static_cast<std::size_t>(result.done));
    CHECK(exit_code(result) == kIncomplete);
  }
  SECTION("stop now") {
    options.interruptions = [&] { return notes.starts.size() == 2 ? std::min(++asked, 2) : 0; };
    const FarmResult result = run_with(2, 50, notes, run_until_asked, options);
    CHECK(result.done == 0);
    CHECK(notes.ended_attempts.size() == 2);
    CHECK(result.left.size() == 50);
    CHECK(exit_code(result) == kIncomplete);
  }
}

TEST_CASE("a stop that is asked for names the cell that runs alone, if one does") {
  Notes notes;
  FarmOptions options = quick();
  int asked = 0;
  options.interruptions = [&] { return notes.starts.empty() ? 0 : std::min(++asked, 2); };
  SECTION("one worker") {
    run_with(1, 3, notes, run_until_asked, options);
    CHECK(notes.asked_to_stop == std::vector<std::optional<int>>{0, 0});
  }
  SECTION("two workers: unknown which process ends first") {
    options.interruptions = [&] { return notes.starts.size() < 2 ? 0 : std::min(++asked, 2); };
    run_with(2, 3, notes, run_until_asked, options);
    CHECK(notes.asked_to_stop == std::vector<std::optional<int>>{std::nullopt, std::nullopt});
  }
}

TEST_CASE("when a result cannot be stored the workers are stopped and the error goes on") {
  Notes notes;
  notes.refuse_cell = 5;
  CHECK_THROWS_WITH(run_with(3, 40, notes, echo), "no space left on device");
  CHECK(notes.results.size() < 40);
}

TEST_CASE("a worker whose cell does not stop is named") {
  static std::atomic<bool> release{false};
  static std::atomic<bool> released{false};
  Notes notes;
  FarmOptions options = quick();
  options.rules.cell_timeout = milliseconds(5);
  options.rules.abandon_grace = milliseconds(20);
  const FarmResult result = run_with(1, 1, notes,
                                     [](const std::string&, const CellContext&) -> std::string {
                                       while (!release) std::this_thread::yield();
                                       released = true;
                                       return "";
                                     },
                                     options, {.stop_grace = milliseconds(5)});
  CHECK(result.stuck_workers == std::vector{1});
  CHECK(notes.verdicts.at(0).first == sweep::CellStatus::timeout);
  release = true;
  while (!released) std::this_thread::yield();
}

TEST_CASE("an error that ends the farm while a worker hangs tells so") {
  static std::atomic<bool> release{false};
  static std::atomic<bool> released{false};
  Notes notes;
  FarmOptions options = quick();
  int told = 0;
  options.on_stuck = [&] { ++told; };
  options.interruptions = [&]() -> int {
    if (!notes.starts.empty()) throw std::runtime_error("no space left on device");
    return 0;
  };
  CHECK_THROWS_WITH(run_with(1, 1, notes,
                             [](const std::string&, const CellContext&) -> std::string {
                               while (!release) std::this_thread::yield();
                               released = true;
                               return "";
                             },
                             options, {.stop_grace = milliseconds(5)}),
                    "no space left on device");
  CHECK(told == 1);
  release = true;
  while (!released) std::this_thread::yield();
}

TEST_CASE("a worker that cannot serve ends the farm with its reason, and the others are stopped") {
  const bool wrong_input = GENERATE(true, false);
  worker::SocketChannel driver, unable, able;
  support::connect(driver, 0, unable, 1);
  support::connect(driver, 0, able, 2);
  unable.send(0, worker::Goodbye{.unable = "no GPU", .wrong_input = wrong_input});
  engine::WallClock clock;
  const std::jthread thread([&] { worker::run_worker(able, clock, kHello, echo); });
  Notes notes;
  FarmOptions options = quick();
  options.workers = {1, 2};
  int stuck = 0;
  options.on_stuck = [&] { ++stuck; };
  const auto run = [&] { run_farm(driver, clock, cells(1000), notes, options); };
  if (wrong_input)
    CHECK_THROWS_MATCHES(run(), worker::InputError, Catch::Matchers::Message("no GPU"));
  else
    CHECK_THROWS_WITH(run(), "no GPU");
  CHECK(stuck == 0);
}

TEST_CASE("the exit code says what is left to do") {
  const auto left = [](LeftCell::Why why) { return LeftCell{0, why, ""}; };
  FarmResult result;
  CHECK(exit_code(result) == kOk);
  result.failed = 1;
  CHECK(exit_code(result) == kSomeCellsFailed);
  result.left = {left(LeftCell::Why::no_worker)};
  CHECK(exit_code(result) == kNoSuchWorker);
  result.left.push_back(left(LeftCell::Why::wrong_server));
  CHECK(exit_code(result) == kNoSuchWorker);
  result.left.push_back(left(LeftCell::Why::drained));
  CHECK(exit_code(result) == kIncomplete);
}
