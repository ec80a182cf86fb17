#pragma once

namespace driver {

/// The exit codes of the process. 130 and above are the shell's, for signals.
enum ExitCode : int {
  kOk = 0,
  kInternalError = 1,
  kUsage = 2,  // command line, sweep file, input data, or a path without permission
  kSomeCellsFailed = 3,
  kNoSuchWorker = 4,  // no worker has a SKU or a server that is planned
  kBadArchive = 5,    // damaged or of another format
  kArchiveInUse = 6,
  kIncomplete = 75,  // run again to continue
};

/// Call while an exception is being handled. Prints to standard error what is wrong and what to do
/// about it, and returns the exit code.
ExitCode report_failure();

/// Flushes standard output. Throws when something could not be written, e.g. because the disk is
/// full.
void check_standard_output();

}  // namespace driver
