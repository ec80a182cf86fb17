#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sweeps/archive_errors.hpp"
#include "sweeps/durable_file.hpp"

namespace sweep {

/// Asked each time that an archive is found in use: waits a moment and says whether to try again.
using KeepWaiting = std::function<bool(const LockHolder&)>;

/// One driver at a time: an flock, which the system releases however the process ends. The file
/// names its holder, and only what may write in its folder may open it.
class ArchiveLock {
 public:
  /// Locks the file `path`, for messages about `archive`. Throws ArchiveInUse when another process
  /// has it and `keep_waiting` is empty or says no.
  ArchiveLock(std::string path, const std::string& archive, const LockHolder& self,
              const KeepWaiting& keep_waiting);
  ~ArchiveLock();
  /// Shows that the holder is alive, by the file's time.
  void beat();
  ArchiveLock(ArchiveLock&&) noexcept = default;
  ArchiveLock& operator=(ArchiveLock&&) noexcept = default;

 private:
  std::string path_;
  Descriptor file_;
};

/// The process that has an archive open for writing, on whatever host.
struct LiveDriver {
  LockHolder holder;
  std::int64_t heard = 0;  // Unix time of its last sign of life
  /// Whether the lock is known to be held. Without the permission to look, the time is all there
  /// is.
  bool is_certain = false;
};

/// None when no process has the archive open, or when the last one was killed.
std::optional<LiveDriver> live_driver(const std::string& archive);

}  // namespace sweep
