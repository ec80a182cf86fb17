#include "sweeps/commits/lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "sweeps/text/text.hpp"

namespace sweep {
namespace {

std::string as_text(const LockHolder& holder) {
  return holder.host + "\n" + std::to_string(holder.pid) + "\n" + holder.slurm_job + "\n";
}

LockHolder parse(const std::string& text) {
  LockHolder holder;
  std::string pid;
  std::istringstream lines(text);
  if (!std::getline(lines, holder.host) || lines.eof())
    return {"unknown", 0, ""};  // locked, but the holder is not written yet
  std::getline(lines, pid);
  std::getline(lines, holder.slurm_job);
  holder.pid = number_from<long>(pid).value_or(0);
  return holder;
}

/// Whether the open file is still at `path`: its last owner removes it.
bool is_at(const Descriptor& file, const std::string& path) {
  struct stat mine {
  }, there{};
  return ::fstat(file.get(), &mine) == 0 && ::stat(path.c_str(), &there) == 0 &&
         mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

/// False when another process has the lock. Retries for a moment, since live_driver() in another
/// process holds it for an instant.
bool lock_soon(const Descriptor& file, const std::string& path) {
  constexpr int kTries = 5;
  for (int i = 1; ::flock(file.get(), LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EWOULDBLOCK)
      throw FileError("lock (is the file system mounted with flock?)", path, errno);
    if (i == kTries) return false;
    ::usleep(10'000);
  }
  return true;
}

/// Mode of the lock file: users that may write in the folder may lock it, and others may not open
/// it. Read permission suffices to take a lock, and a held lock keeps drivers out.
mode_t lock_mode(const std::string& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return S_IRUSR | S_IWUSR;
  const mode_t writers = status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH);
  return S_IRUSR | S_IWUSR | writers | writers << 1;
}

/// Opens the lock file and creates its folder. Retries, since the last owner of a lock removes
/// both.
Descriptor opened_lock(const std::string& path) {
  constexpr int kTries = 100;
  for (int i = 1;; ++i) {
    ::mkdir(folder_of(path).c_str(), 0777);
    try {
      return {path, O_RDWR | O_CREAT, S_IRUSR | S_IWUSR};
    } catch (const FileError& error) {
      if (error.error_number != ENOENT || i == kTries) throw;
    }
  }
}

Descriptor locked_file(const std::string& path, const std::string& archive,
                       const KeepWaiting& keep_waiting) {
  for (;;) {
    Descriptor file = opened_lock(path);
    ::fchmod(file.get(), lock_mode(folder_of(path)));  // fails if another user owns the file
    if (!lock_soon(file, path)) {
      const LockHolder holder = parse(file.read());
      if (!keep_waiting || !keep_waiting(holder)) throw ArchiveInUse(archive, holder);
    } else if (is_at(file, path)) {
      return file;
    }
  }
}

}  // namespace

ArchiveLock::ArchiveLock(std::string path, const std::string& archive, const LockHolder& self,
                         const KeepWaiting& keep_waiting)
    : path_(std::move(path)), file_(locked_file(path_, archive, keep_waiting)) {
  if (::ftruncate(file_.get(), 0) != 0) throw FileError("write", path_, errno);
  file_.write(as_text(self));
}

ArchiveLock::~ArchiveLock() {
  ::unlink(path_.c_str());
  ::rmdir(folder_of(path_).c_str());  // only when nothing is left in it
}

void ArchiveLock::heartbeat() { ::futimens(file_.get(), nullptr); }

std::optional<LiveDriver> live_driver(const std::string& archive) {
  const std::string path = resolved(archive) + ".d/lock";
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  LiveDriver driver{{"unknown", 0, ""}, status.st_mtim.tv_sec, false};
  try {
    const Descriptor file(path, O_RDONLY);
    if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0) return std::nullopt;
    driver.is_certain = errno == EWOULDBLOCK;
    driver.holder = parse(file.read());
    return driver;
  } catch (const FileError& error) {
    if (error.error_number == EACCES) return driver;
    if (error.error_number == ENOENT || error.error_number == ENOTDIR) return std::nullopt;
    throw;
  }
}

}  // namespace sweep
