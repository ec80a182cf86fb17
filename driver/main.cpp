#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

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
  if (options.command == "fit") return driver::fit(options);
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

/// Messages quote files and archives: what would steer a terminal is spelled out. Their lines stay
/// lines, indented, so that none of them passes for another message.
int fail(driver::ExitCode code, const std::string& message) {
  std::istringstream lines(message);
  const char* lead = "kvsweep: ";
  for (std::string line; std::getline(lines, line); lead = "  ")
    std::cerr << lead << analysis::terminal_text(line) << '\n';
  return code;
}
int fail(driver::ExitCode code, const std::exception& error) { return fail(code, error.what()); }

/// With what can be done about it, where it is an archive at all.
int fail_damaged(const sweep::ArchiveDamaged& error) {
  std::string message = error.what();
  if (message.find("damaged") != std::string::npos) {
    message +=
        "; `kvsweep check ARCHIVE` lists what is damaged, and `kvsweep run ... --fresh` sets the "
        "archive aside and starts anew";
  }
  return fail(driver::kBadArchive, message);
}

/// A reader that has seen enough, as `head` has, ends the command without a word, as it ends any
/// other program; a run goes on, and files that are being written are finished.
void expect_readers(const driver::Options& options) {
  const bool only_prints = options.command != "run" && !options.output;
  std::signal(SIGPIPE, only_prints ? SIG_DFL : SIG_IGN);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const driver::Options options = driver::parse_options(argc, argv);
    expect_readers(options);
    const int exit_code = run_command(options);
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
  } catch (const sweep::ArchiveDamaged& error) {
    return fail_damaged(error);
  } catch (const sweep::ArchiveError& error) {
    return fail(driver::kBadArchive, error);
  } catch (const std::exception& error) {
    return fail(driver::kInternalError, error);
  }
}
