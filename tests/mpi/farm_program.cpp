// A farm whose cells do nothing but what the test asks for. Results are files in a folder.
//
//   farm_program FOLDER CELLS [crash=CELL] [kill=CELL] [slow_ms=N] [bytes=N] [quiet]
//
// crash: the cell throws. kill: the cell kills its process. slow_ms: a cell lasts so long, or until
// it is asked to stop. bytes: size of a result. Prints what was done, rank 0's CPU seconds while it
// drove and its peak memory; returns the farm's exit code.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>

#include "driver/farm/drain.hpp"
#include "driver/farm/farm.hpp"
#include "driver/run/workers.hpp"
#include "workers/rank/worker_loop.hpp"

namespace fs = std::filesystem;

namespace {

struct Wish {
  fs::path folder;
  int cells = 0;
  int crash = -1;
  int kill = -1;
  int slow_ms = 0;
  std::size_t bytes = 16;
};

Wish parse(int argc, char** argv) {
  Wish wish{.folder = argv[1], .cells = std::atoi(argv[2])};
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const long value = std::atol(word.c_str() + equals + 1);
    if (name == "crash") wish.crash = static_cast<int>(value);
    if (name == "kill") wish.kill = static_cast<int>(value);
    if (name == "slow_ms") wish.slow_ms = static_cast<int>(value);
    if (name == "bytes") wish.bytes = static_cast<std::size_t>(value);
  }
  return wish;
}

std::string result_of(int cell, std::size_t bytes) {
  std::string text(bytes, static_cast<char>('a' + cell % 26));
  return text + " of cell " + std::to_string(cell) + "\n";
}

/// Lasts `span`, or until the cell is asked to stop.
void last(std::chrono::milliseconds span, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  never.wait_for(lock, stop, span, [] { return false; });
  if (stop.stop_requested()) throw worker::CellAbandoned();
}

worker::RunCell cell_of(const Wish& wish) {
  return [wish](const std::string&, const worker::CellContext& context) {
    if (context.attempt.cell == wish.crash) throw std::runtime_error("told to fail");
    if (context.attempt.cell == wish.kill) std::raise(SIGKILL);
    if (wish.slow_ms > 0) last(std::chrono::milliseconds(wish.slow_ms), context.stop);
    return result_of(context.attempt.cell, wish.bytes);
  };
}

/// A file a cell: temporary name, then its own.
class Folder : public driver::FarmSink {
 public:
  explicit Folder(const Wish& wish) : wish_(wish) {}
  std::string config_of(const std::vector<int>& cells) override {
    return std::to_string(cells.front());
  }
  void on_start(const driver::AssignCell& start, const worker::Hello&) override {
    std::ofstream(wish_.folder / "starts", std::ios::app)
        << start.attempt.cell << ' ' << start.attempt.number << '\n';
  }
  void on_done(sweep::Attempt attempt, const worker::Hello&, std::string&& result) override {
    const int cell = attempt.cell;
    if (result != result_of(cell, wish_.bytes)) throw std::runtime_error("damaged result");
    const fs::path file = wish_.folder / (std::to_string(cell) + ".done");
    if (fs::exists(file)) throw std::runtime_error("a second result");
    std::ofstream(file.string() + ".tmp") << result.substr(0, 16);
    fs::rename(file.string() + ".tmp", file);
  }
  void on_attempt_ended(const driver::AttemptEnded&) override {}
  void on_ended(const driver::CellEnded& ended) override {
    std::ofstream(wish_.folder / (std::to_string(ended.attempt.cell) + ".ended")) << ended.reason;
  }

 private:
  const Wish& wish_;
};

double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

long peak_kib() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return use.ru_maxrss;
}

int work(worker::Channel& channel, const Wish& wish) {
  driver::ignore_drain_signals();
  engine::WallClock clock;
  const worker::Hello hello{.host = "here", .pid = static_cast<int>(getpid()), .backend = "sim"};
  run_worker(channel, clock, hello, cell_of(wish));
  return 0;
}

driver::FarmResult drive(worker::MpiChannel* channel, const Wish& wish) {
  driver::ignore_drain_signals();  // when the farm has ended
  const driver::DrainSignals signals;
  Folder sink(wish);
  std::vector<driver::CellTask> cells;
  for (int i = 0; i < wish.cells; ++i) cells.push_back({.cell = i, .sku = "any"});
  driver::FarmOptions options{.rules = {.backend = "sim"}};
  options.interruptions = [&] { return signals.count(); };
  std::ofstream(wish.folder / "driving") << getpid() << '\n';
  if (channel != nullptr) {
    for (int rank = 1; rank < channel->place().size; ++rank) options.workers.push_back(rank);
    return run_farm(*channel, engine::WallClock(), cells, sink, options);
  }
  driver::LocalWorkers workers(1, [&](worker::Channel& local) { return work(local, wish); });
  options.workers = workers.numbers();
  return run_farm(workers, engine::WallClock(), cells, sink, options);
}

int drive_and_report(worker::MpiChannel* channel, const Wish& wish) {
  const engine::WallClock clock;
  const double cpu_before = cpu_seconds();
  const driver::FarmResult result = drive(channel, wish);
  const double wall_s = engine::to_seconds(clock.now());
  std::printf(
      "done %d, ended %d, left %zu, stuck %zu; %.3f s, %.1f us a cell, driver CPU %.2f %%, peak "
      "%ld MiB\n",
      result.done, result.ended, result.left.size(), result.stuck_workers.size(), wall_s,
      1e6 * wall_s / wish.cells, 100 * (cpu_seconds() - cpu_before) / wall_s, peak_kib() / 1024);
  return exit_code(result);
}

int play_part(const Wish& wish) {
  if (const auto channel = worker::join_world(/*on_one_host=*/true); channel->place().size > 1)
    return channel->place().rank == 0 ? drive_and_report(channel.get(), wish)
                                      : work(*channel, wish);
  return drive_and_report(nullptr, wish);  // MPI has ended, with its threads
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  try {
    return play_part(parse(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
