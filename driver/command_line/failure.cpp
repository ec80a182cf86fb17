#include "driver/command_line/failure.hpp"

#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "analysis/compare/config.hpp"
#include "analysis/text/escape.hpp"
#include "driver/command_line/options.hpp"
#include "sweeps/archive/errors.hpp"
#include "sweeps/definition/params.hpp"
#include "sweeps/files/durable_file.hpp"
#include "workers/cell/experiment.hpp"

namespace driver {
namespace {

/// Messages quote files and archives, so control characters are escaped. Continuation lines are
/// indented, so that none looks like another message.
ExitCode fail(ExitCode code, const std::string& message) {
  std::istringstream lines(message);
  std::string_view lead = "kvsweep: ";
  for (std::string line; std::getline(lines, line); lead = "  ")
    std::cerr << analysis::Colored{analysis::Color::bad, lead} << analysis::terminal_text(line)
              << '\n';
  return code;
}

/// Adds what to do about it, unless the file is not an archive at all.
ExitCode fail_damaged(const std::string& message) {
  if (message.find("damaged") == std::string::npos) return fail(kBadArchive, message);
  return fail(
      kBadArchive,
      message +
          "; `kvsweep check ARCHIVE` lists what is damaged, `kvsweep salvage ARCHIVE -o "
          "NEW.h5` saves what is intact there, in the previous archive (.prev) and in results "
          "not yet merged (.d), and `kvsweep run ... --fresh` moves all three aside");
}

}  // namespace

ExitCode report_failure() {
  try {
    throw;
  } catch (const UsageError& error) {
    return fail(kUsage, error.what());
  } catch (const sweep::SpecError& error) {
    return fail(kUsage, error.what());
  } catch (const analysis::CompareError& error) {
    return fail(kUsage, error.what());
  } catch (const worker::InputError& error) {
    return fail(kUsage, error.what());
  } catch (const sweep::ArchiveInUse& error) {
    return fail(kArchiveInUse, error.what());
  } catch (const sweep::ArchiveDamaged& error) {
    return fail_damaged(error.what());
  } catch (const sweep::ArchiveNoSpace& error) {
    return fail(kIncomplete, std::string(error.what()) +
                                 "; when there is space, run the same command again to continue");
  } catch (const sweep::ArchiveDenied& error) {
    return fail(kUsage, error.what());
  } catch (const sweep::ArchiveError& error) {
    return fail(kBadArchive, error.what());
  } catch (const sweep::FileError& error) {
    return fail(sweep::is_denied(error.error_number) ? kUsage : kInternalError, error.what());
  } catch (const std::system_error& error) {
    return fail(sweep::is_denied(error.code().value()) ? kUsage : kInternalError, error.what());
  } catch (const std::bad_alloc&) {
    return fail(kInternalError, "out of memory");
  } catch (const std::exception& error) {
    return fail(kInternalError, error.what());
  }
}

void check_standard_output() {
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!written || !std::cout) throw std::runtime_error("cannot write standard output");
}

}  // namespace driver
