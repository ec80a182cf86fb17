#include <sys/stat.h>

#include <csignal>
#include <cstring>
#include <iostream>
#include <memory>

#include "driver/command_line/failure.hpp"
#include "driver/command_line/options.hpp"
#include "driver/commands/commands.hpp"
#include "driver/farm/drain.hpp"
#include "sweeps/process/freed_memory.hpp"

namespace {

/// Sets what a parent process may have changed. Writing beyond `ulimit -f` returns an error instead
/// of killing the process, children can be waited for, and the owner of a new file may read it.
void set_inherited() {
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);
  ::umask(::umask(0) & ~static_cast<mode_t>(S_IRWXU));
}

/// A closed pipe (`| head`) ends a command that only prints, silently. Runs go on, and output files
/// are completed.
void expect_readers(const driver::Options& options) {
  const bool only_prints = options.signals == nullptr && !options.output;
  std::signal(SIGPIPE, only_prints ? SIG_DFL : SIG_IGN);
}

int run_reporting(const driver::Options& options) {
  try {
    const int exit_code = options.command != nullptr ? options.command->run(options) : driver::kOk;
    driver::check_standard_output();
    return exit_code;
  } catch (...) {
    std::cout.flush();  // what came before the error
    return driver::report_failure();
  }
}

}  // namespace

int main(int argc, char** argv) {
  // Comes first, since an earlier signal would kill the run. Never destroyed, so that a signal
  // after the run's end changes nothing.
  const driver::DrainSignals* signals = nullptr;
  if (argc > 1 && std::strcmp(argv[1], "run") == 0)
    signals = std::make_unique<driver::DrainSignals>().release();
  set_inherited();
  sweep::keep_freed_memory();
  driver::allow_wanted_colors();
  driver::Options options;
  try {
    options = driver::parse_options(argc, argv, driver::commands());
    options.signals = signals;
  } catch (...) {
    return driver::report_failure();
  }
  expect_readers(options);
  return run_reporting(options);
}
