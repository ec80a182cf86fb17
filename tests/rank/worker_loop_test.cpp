#include "workers/rank/worker_loop.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "tests/support/catch.hpp"
#include "tests/support/socket_ends.hpp"

using namespace worker;
using std::chrono::milliseconds;

namespace {

constexpr int kDriver = 0;
constexpr int kWorker = 1;

/// Opens once.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

/// A worker on a thread, spoken to as its driver would. Told to stop when the test ends.
class Crew {
 public:
  explicit Crew(RunCell run_cell, WorkerOptions options = {})
      : run_cell_(std::move(run_cell)), options_(options) {
    support::connect(here_, kDriver, there_, kWorker);
    thread_ = std::jthread([this] {
      end_ = run_worker(there_, clock_, {.host = "here", .backend = "sim"}, run_cell_, options_);
    });
    CHECK(next<Hello>().host == "here");
  }
  ~Crew() {
    if (thread_.joinable()) stop();
  }
  void say(const Message& message) { here_.send(kWorker, message); }
  /// The next message of this kind; heartbeats before it are passed over.
  template <class Kind>
  Kind next() {
    for (;;) {
      const auto received = here_.poll();
      if (!received) {
        here_.wait(std::chrono::seconds(1));
      } else if (const auto* found = std::get_if<Kind>(&received->message)) {
        return *found;
      } else if (!std::holds_alternative<Heartbeat>(received->message)) {
        throw std::runtime_error("kind " + std::to_string(tag_of(received->message)));
      }
    }
  }
  WorkerEnd stop() {
    say(Stop{});
    thread_.join();
    return end_;
  }

 private:
  SocketChannel here_, there_;
  engine::WallClock clock_;
  RunCell run_cell_;
  WorkerOptions options_;
  WorkerEnd end_ = WorkerEnd::stuck;
  std::jthread thread_;
};

/// A cell that works until it is asked to stop.
std::string run_until_asked(const std::string&, const CellContext& context) {
  while (!context.stop.stop_requested()) std::this_thread::yield();
  throw worker::CellAbandoned();
}

RunCell throwing(std::function<void()> thrower) {
  return [thrower](const std::string&, const CellContext&) -> std::string {
    thrower();
    return "";
  };
}

}  // namespace

TEST_CASE("a worker says hello, runs what it is assigned and leaves with a goodbye") {
  Crew crew([](const std::string& config, const CellContext& context) {
    return config + "/" + std::to_string(context.attempt.cell) + "/" +
           std::to_string(context.attempt.number);
  });
  for (int cell = 0; cell < 3; ++cell) {
    crew.say(Assign{{cell, cell + 1}, "config"});
    const Done done = crew.next<Done>();
    CHECK(done.attempt.cell == cell);
    CHECK(done.attempt.number == cell + 1);
    CHECK(done.result == "config/" + std::to_string(cell) + "/" + std::to_string(cell + 1));
  }
  CHECK(crew.stop() == WorkerEnd::stopped);
  CHECK_FALSE(crew.next<Goodbye>().stuck);
}

TEST_CASE("a cell that throws fails with the reason, and the worker goes on") {
  int calls = 0;
  Crew crew([&](const std::string&, const CellContext&) -> std::string {
    if (++calls == 1) throw std::runtime_error("pool of 3 blocks");
    return "fine";
  });
  crew.say(Assign{{4, 1}, ""});
  const Failed failed = crew.next<Failed>();
  CHECK(failed.attempt.cell == 4);
  CHECK(failed.kind == sweep::CellStatus::failed);
  CHECK(failed.reason == "pool of 3 blocks");
  CHECK_FALSE(failed.poisoned);
  crew.say(Assign{{5, 1}, ""});
  CHECK(crew.next<Done>().result == "fine");
}

TEST_CASE("what is thrown decides the verdict") {
  SECTION("a verdict keeps its kind") {
    Crew crew(throwing([] { throw CellVerdict(sweep::CellStatus::infeasible, "too small"); }));
    crew.say(Assign{{1, 1}, ""});
    const Failed failed = crew.next<Failed>();
    CHECK(failed.kind == sweep::CellStatus::infeasible);
    CHECK(failed.reason == "too small");
  }
  SECTION("a lost device poisons the worker") {
    Crew crew(throwing([] { throw DeviceLost("an illegal memory access"); }));
    crew.say(Assign{{1, 1}, ""});
    const Failed failed = crew.next<Failed>();
    CHECK(failed.poisoned);
    CHECK(failed.reason == "an illegal memory access");
  }
  SECTION("another server than planned is told apart, since other cells need it too") {
    Crew crew(throwing([] { throw WrongServer("it reports version 2"); }));
    crew.say(Assign{{1, 1}, ""});
    const Failed failed = crew.next<Failed>();
    CHECK(failed.wrong_server);
    CHECK_FALSE(failed.poisoned);
    CHECK(failed.reason == "it reports version 2");
  }
  SECTION("out of memory says so") {
    Crew crew(throwing([] { throw std::bad_alloc(); }));
    crew.say(Assign{{1, 1}, ""});
    const Failed failed = crew.next<Failed>();
    CHECK(failed.reason == "out of host memory");
    CHECK(failed.machine_fault);
  }
  SECTION("a full disk or a limit of the machine is not the cell's fault, a missing file may be") {
    for (const auto& [why, machine_fault] :
         {std::pair(std::errc::no_space_on_device, true),
          std::pair(std::errc::too_many_files_open, true),
          std::pair(std::errc::no_such_file_or_directory, false)}) {
      Crew crew(throwing([why = why] { throw std::system_error(make_error_code(why)); }));
      crew.say(Assign{{1, 1}, ""});
      CHECK(crew.next<Failed>().machine_fault == machine_fault);
    }
  }
  SECTION("a thrown value of any type is caught") {
    Crew crew(throwing([] { throw 42; }));
    crew.say(Assign{{1, 1}, ""});
    CHECK(crew.next<Failed>().reason == "an exception of unknown type");
  }
}

TEST_CASE("a running cell is abandoned when asked, and the worker takes another") {
  Crew crew(run_until_asked);
  crew.say(Assign{{6, 2}, ""});
  crew.say(Abandon{{6, 2}});
  const Abandoned abandoned = crew.next<Abandoned>();
  CHECK(abandoned.attempt.cell == 6);
  CHECK(abandoned.attempt.number == 2);
  crew.say(Assign{{7, 1}, ""});
  crew.say(Abandon{{6, 2}});  // late: it is about the cell before
  crew.say(Abandon{{7, 1}});
  CHECK(crew.next<Abandoned>().attempt.cell == 7);
}

TEST_CASE("a cell that finishes although it was asked to stop has finished") {
  Crew crew([](const std::string&, const CellContext& context) -> std::string {
    while (!context.stop.stop_requested()) std::this_thread::yield();
    return "last step";
  });
  crew.say(Assign{{1, 1}, ""});
  crew.say(Abandon{{1, 1}});
  CHECK(crew.next<Done>().result == "last step");
}

TEST_CASE("heartbeats carry the progress of the running cell") {
  Gate reported;
  Crew crew(
      [&](const std::string& config, const CellContext& context) {
        context.progress({.finished_jobs = 30, .jobs = 100, .steps = 12, .now_s = 4.5});
        reported.open();
        return run_until_asked(config, context);
      },
      {.poll = milliseconds(1), .heartbeat = milliseconds(1)});
  crew.say(Assign{{3, 1}, ""});
  reported.pass();
  Heartbeat beat = crew.next<Heartbeat>();
  while (beat.progress.jobs == 0) beat = crew.next<Heartbeat>();  // sent before the report
  CHECK(beat.attempt.cell == 3);
  CHECK(beat.progress.finished_jobs == 30);
  CHECK(beat.progress.steps == 12);
}

TEST_CASE("a stop abandons the running cell and says so before the goodbye") {
  Crew crew(run_until_asked);
  crew.say(Assign{{1, 1}, ""});
  CHECK(crew.stop() == WorkerEnd::stopped);
  CHECK(crew.next<Abandoned>().attempt.cell == 1);
  CHECK_FALSE(crew.next<Goodbye>().stuck);
}

TEST_CASE("a cell that does not stop leaves its worker stuck, and the worker reports it") {
  // Static: the thread that is left behind may use it after the test case.
  static Gate release;
  static Gate released;
  {
    Crew crew(
        [](const std::string&, const CellContext&) -> std::string {
          release.pass();
          released.open();
          return "";
        },
        {.poll = milliseconds(1), .stop_grace = milliseconds(5)});
    crew.say(Assign{{1, 1}, ""});
    CHECK(crew.stop() == WorkerEnd::stuck);
    CHECK(crew.next<Goodbye>().stuck);
  }
  release.open();
  released.pass();
}
