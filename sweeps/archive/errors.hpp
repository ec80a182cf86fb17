#pragma once
#include <stdexcept>
#include <string>
#include <utility>

namespace sweep {

/// An archive cannot be used as asked. what() is one complete message that names the file.
struct ArchiveError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// It is not what was written: not HDF5, truncated, or with contents that contradict each other.
struct ArchiveDamaged : ArchiveError {
  using ArchiveError::ArchiveError;
};

/// It is whole, but not for this sweep or this program.
struct ArchiveIncompatible : ArchiveError {
  using ArchiveError::ArchiveError;
};

/// It could not be written; the last good archive is unchanged.
struct ArchiveWriteFailed : ArchiveError {
  using ArchiveError::ArchiveError;
};

/// This process may not write there.
struct ArchiveDenied : ArchiveWriteFailed {
  using ArchiveWriteFailed::ArchiveWriteFailed;
};

/// There is no space left; the same call succeeds once there is.
struct ArchiveNoSpace : ArchiveWriteFailed {
  ArchiveNoSpace(const std::string& message, std::string folder)
      : ArchiveWriteFailed(message), folder(std::move(folder)) {}
  std::string folder;  // the folder without space
};

/// The process that has an archive open for writing.
struct LockHolder {
  std::string host;
  long pid = 0;
  std::string slurm_job;  // empty outside SLURM
};

/// "process 12 on host n1 (SLURM job 34)"
inline std::string to_text(const LockHolder& holder) {
  std::string text = "process " + std::to_string(holder.pid) + " on host " + holder.host;
  if (!holder.slurm_job.empty()) text += " (SLURM job " + holder.slurm_job + ")";
  return text;
}

/// Another driver has the archive open.
struct ArchiveInUse : ArchiveError {
  ArchiveInUse(const std::string& path, LockHolder by)
      : ArchiveError(path + " is in use by " + to_text(by)), holder(std::move(by)) {}
  LockHolder holder;
};

}  // namespace sweep
