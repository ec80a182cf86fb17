#include <mpi.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <stdexcept>

#include "driver/bundle/commands.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/command_line/options.hpp"
#include "driver/commands/commands.hpp"
#include "driver/create/new_policy.hpp"
#include "sweeps/files/freed_memory.hpp"

namespace {

/// Initializes MPI; the destructor finalizes it. Open MPI looks for fast networks when it starts,
/// which takes 0.2 s: ranks that are all on one host need none.
class MpiSession {
 public:
  explicit MpiSession(bool on_one_host) {
    if (on_one_host) ::setenv("OMPI_MCA_pml", "ob1", 0);  // unless mpirun or the user named one
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_FUNNELED) {
      throw std::runtime_error("MPI cannot be initialized with MPI_THREAD_FUNNELED");
    }
  }
  ~MpiSession() { MPI_Finalize(); }
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
};

int run_command(const driver::Options& options, const driver::DrainSignals* signals) {
  if (options.command == "run") {
    std::optional<MpiSession> mpi;
    const std::string damage = driver::damage_before_run(options);
    if (options.in_mpi_job) mpi.emplace(options.on_one_host);
    return driver::run(options, *signals, damage);
  }
  if (options.command == "plan") return driver::plan(options);
  if (options.command == "status") return driver::status(options);
  if (options.command == "check") return driver::check(options);
  if (options.command == "merge") return driver::merge(options);
  if (options.command == "salvage") return driver::salvage(options);
  if (options.command == "compare") return driver::compare(options);
  if (options.command == "pack") return driver::run_pack(options);
  if (options.command == "verify") return driver::run_verify(options);
  if (options.command == "table") return driver::table(options);
  if (options.command == "report") return driver::report(options);
  if (options.command == "export") return driver::export_table(options);
  if (options.command == "fit") return driver::fit(options);
  if (options.command == "trace") return driver::trace(options);
  if (options.command == "diff") return driver::diff(options);
  if (options.command == "tune") return driver::tune(options);
  if (options.command == "twin") return driver::twin(options);
  if (options.command == "workload") return driver::describe_workload(options);
  if (options.command == "bound") return driver::bound(options);
  if (options.command == "bench") return driver::bench(options);
  if (options.command == "claims") return driver::claims(options);
  if (options.command == "doctor") return driver::doctor(options);
  if (options.command == "submit") return driver::submit(options);
  if (options.command == "completion") return driver::completion(options);
  if (options.command == "keys") return driver::keys(options);
  if (options.command == "policies") return driver::policies(options);
  if (options.command == "new") return driver::new_policy(options);
  return driver::kOk;
}

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
  const bool only_prints = options.command != "run" && !options.output;
  std::signal(SIGPIPE, only_prints ? SIG_DFL : SIG_IGN);
}

/// Runs a command. An exception becomes a message and an exit code.
int run_reporting(const driver::Options& options, const driver::DrainSignals* signals) {
  try {
    const int exit_code = run_command(options, signals);
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
  if (argc > 1 && std::strcmp(argv[1], "run") == 0) signals = new driver::DrainSignals;
  set_inherited();
  sweep::keep_freed_memory();
  driver::allow_wanted_colors();
  driver::Options options;
  try {
    options = driver::parse_options(argc, argv);
  } catch (...) {
    return driver::report_failure();
  }
  expect_readers(options);
  return run_reporting(options, signals);
}
