#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>

#include "analysis/escape.hpp"
#include "driver/commands/commands.hpp"
#include "driver/exit_codes.hpp"
#include "driver/options.hpp"
#include "sweeps/archive_errors.hpp"
#include "sweeps/params.hpp"
#include "workers/experiment.hpp"

namespace {

/// MPI is up while this lives.
class MpiSession {
 public:
  MpiSession() {
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_FUNNELED) {
      throw std::runtime_error("MPI cannot be initialised with MPI_THREAD_FUNNELED");
    }
  }
  ~MpiSession() { MPI_Finalize(); }
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
};

int run_command(const driver::Options& options) {
  if (options.command == "run") {
    std::optional<MpiSession> mpi;
    if (options.in_mpi_job) mpi.emplace();
    return driver::run(options);
  }
  if (options.command == "plan") return driver::plan(options);
  if (options.command == "status") return driver::status(options);
  if (options.command == "check") return driver::check(options);
  if (options.command == "merge") return driver::merge(options);
  if (options.command == "compare") return driver::compare(options);
  if (options.command == "table") return driver::table(options);
  if (options.command == "report") return driver::report(options);
  if (options.command == "export") return driver::export_table(options);
  if (options.command == "trace") return driver::trace(options);
  if (options.command == "workload") return driver::describe_workload(options);
  if (options.command == "bench") return driver::bench(options);
  if (options.command == "claims") return driver::claims(options);
  if (options.command == "doctor") return driver::doctor(options);
  if (options.command == "submit") return driver::submit(options);
  return driver::kOk;
}

/// A full disk or a closed pipe shows in the last write at the latest.
void check_standard_output() {
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!written || !std::cout) throw std::runtime_error("cannot write standard output");
}

int fail(driver::ExitCode code, const std::exception& error) {
  // Messages quote files and archives.
  std::cerr << "kvsweep: " << analysis::terminal_text(error.what()) << '\n';
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a failed write, reported like any other
  try {
    const int exit_code = run_command(driver::parse_options(argc, argv));
    check_standard_output();
    return exit_code;
  } catch (const driver::UsageError& error) {
    return fail(driver::kUsage, error);
  } catch (const sweep::SpecError& error) {
    return fail(driver::kUsage, error);
  } catch (const worker::InputError& error) {
    return fail(driver::kUsage, error);
  } catch (const sweep::ArchiveInUse& error) {
    return fail(driver::kArchiveInUse, error);
  } catch (const sweep::ArchiveError& error) {
    return fail(driver::kBadArchive, error);
  } catch (const std::exception& error) {
    return fail(driver::kInternalError, error);
  }
}
