#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sweeps/archive/errors.hpp"
#include "sweeps/files/durable_file.hpp"

namespace sweep {

/// Called each time an archive is found in use: waits a moment and returns whether to retry.
using KeepWaiting = std::function<bool(const LockHolder&)>;

/// Admits one driver at a time. An flock: the system releases it however the process ends. The lock
/// file names its holder. Only processes that may write in its folder may open it.
class ArchiveLock {
 public:
  /// Locks the file `path`; messages name `archive`. Throws ArchiveInUse when another process holds
  /// the lock and `keep_waiting` is empty or returns false.
  ArchiveLock(std::string path, const std::string& archive, const LockHolder& self,
              const KeepWaiting& keep_waiting);
  ~ArchiveLock();
  ArchiveLock(const ArchiveLock&) = delete;
  ArchiveLock& operator=(const ArchiveLock&) = delete;
  /// Heartbeat of the holder: sets the file's modification time.
  void heartbeat();

 private:
  std::string path_;
  Descriptor file_;
};

/// The process that has an archive open for writing, on any host.
struct LiveDriver {
  LockHolder holder;
  std::int64_t heard = 0;  // Unix time of its last heartbeat
  /// Whether the lock is known to be held. Without permission to test the lock, only the heartbeat
  /// is known.
  bool is_certain = false;
};

/// None when no process has the archive open, or when the last one was killed.
std::optional<LiveDriver> live_driver(const std::string& archive);

}  // namespace sweep
