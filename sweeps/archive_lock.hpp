#pragma once
#include <functional>
#include <optional>
#include <string>

#include "sweeps/archive_errors.hpp"
#include "sweeps/durable_file.hpp"

namespace sweep {

/// Asked each time that an archive is found in use: waits a moment and says whether to try again.
using KeepWaiting = std::function<bool(const LockHolder&)>;

/// One driver at a time: an flock, which the system releases however the process ends. The file
/// says who holds it.
class ArchiveLock {
 public:
  /// Locks the file `path`, for messages about `archive`. Throws ArchiveInUse when another process
  /// has it and `keep_waiting` is empty or says no.
  ArchiveLock(std::string path, const std::string& archive, const LockHolder& self,
              const KeepWaiting& keep_waiting);
  ~ArchiveLock();
  ArchiveLock(ArchiveLock&&) noexcept = default;
  ArchiveLock& operator=(ArchiveLock&&) noexcept = default;

 private:
  std::string path_;
  Descriptor file_;
};

/// Who has this archive open for writing, on whatever host; none when nobody has, or when the last
/// one was killed.
std::optional<LockHolder> live_driver(const std::string& archive);

}  // namespace sweep
