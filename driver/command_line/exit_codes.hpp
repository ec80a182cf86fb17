#pragma once

namespace driver {

/// What the process returns. 130 and above are the shell's, for signals.
enum ExitCode : int {
  kOk = 0,
  kInternalError = 1,
  kUsage = 2,  // command line, sweep file or input data
  kSomeCellsFailed = 3,
  kNoSuchWorker = 4,  // no worker has a SKU or a server that is planned
  kBadArchive = 5,    // damaged or of another format
  kArchiveInUse = 6,
  kIncomplete = 75,  // run again to continue
};

}  // namespace driver
