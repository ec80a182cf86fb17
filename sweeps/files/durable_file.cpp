#include "sweeps/files/durable_file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sweeps/text/text.hpp"

namespace sweep {
namespace {

constexpr int kFolderMode = 0777;

/// EINVAL says that the file system cannot sync this, as FUSE and SMB say of folders.
void sync_descriptor(const std::string& path, int flags) {
  const Descriptor file(path, flags);
  if (::fsync(file.get()) == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS) return;
  throw FileError("sync", path, errno);
}

/// Whether an errno says that the path, or what the user may do with it, is wrong.
bool is_about_path(int error) {
  constexpr std::array kAll = {ENOENT,       ENOTDIR, EACCES, EPERM, EISDIR, ELOOP,
                               ENAMETOOLONG, EROFS,   EINVAL, ENXIO, ESPIPE, EEXIST};
  return std::ranges::find(kAll, error) != kAll.end();
}

/// The errno of allocating `bytes` to a file, which quotas count as well; 0 if there is room.
int allocate(const Descriptor& file, const std::string& folder, std::uint64_t bytes) {
  int error = EINTR;
  while (error == EINTR)
    error = ::fallocate(file.get(), 0, 0, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  if (error != EOPNOTSUPP && error != ENOSYS) return error;
  struct statvfs status {};  // not every file system can preallocate
  if (::statvfs(folder.c_str(), &status) != 0) return errno;
  return std::uint64_t{status.f_bavail} * status.f_frsize < bytes ? ENOSPC : 0;
}

}  // namespace

FileError::FileError(const std::string& tried, const std::string& path, int error)
    : std::runtime_error("cannot " + tried + " " + path + ": " +
                         std::generic_category().message(error)),
      error_number(error) {}

void throw_read_error(const std::string& tried, const std::string& path, int error) {
  if (is_about_path(error)) throw FileError(tried, path, error);
  throw ReadFailed(tried, path, error);
}

bool is_denied(int error) { return error == EACCES || error == EPERM || error == EROFS; }

Descriptor::Descriptor(const std::string& path, int flags, unsigned mode)
    : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {
  if (descriptor_ >= 0) return;
  if ((flags & O_ACCMODE) == O_RDONLY) throw_read_error("open", path, errno);
  throw FileError("create", path, errno);
}

Descriptor::~Descriptor() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void Descriptor::write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw FileError("write", path_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string Descriptor::read(std::size_t most) const {
  std::string bytes;
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0)
    bytes.reserve(std::min(most, static_cast<std::size_t>(status.st_size)));
  std::vector<char> block(1 << 16);
  while (bytes.size() < most) {
    const std::size_t wanted = std::min(block.size(), most - bytes.size());
    const ssize_t read = ::read(descriptor_, block.data(), wanted);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) throw_read_error("read", path_, errno);
    if (read == 0) break;
    bytes.append(block.data(), static_cast<std::size_t>(read));
  }
  return bytes;
}

void Descriptor::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) throw FileError("close", path_, errno);
}

void FileOps::write(const std::string& path, std::string_view bytes) {
  Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC);
  file.write(bytes);
  file.close();
}

void FileOps::append(const std::string& path, std::string_view bytes) {
  Descriptor file(path, O_WRONLY | O_APPEND);
  file.write(bytes);
  file.close();
}

void FileOps::sync(const std::string& path) { sync_descriptor(path, O_RDONLY); }

void FileOps::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    throw FileError("rename " + from + " to", to, errno);
  }
}

bool FileOps::link(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0) return true;
  if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK) return false;
  throw FileError("link " + from + " to", to, errno);
}

void FileOps::remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw FileError("remove", path, errno);
}

void FileOps::sync_folder(const std::string& path) {
  sync_descriptor(path, O_RDONLY | O_DIRECTORY);
}

void FileOps::make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), kFolderMode) != 0 && errno != EEXIST) {
    throw FileError("make the folder", path, errno);
  }
}

void FileOps::require_space(const std::string& folder, std::uint64_t bytes) {
  const std::string path = temporary_name(folder + "/space");
  const Descriptor file(path, O_WRONLY | O_CREAT | O_EXCL);
  const int error = bytes > 0 ? allocate(file, folder, bytes) : 0;
  ::unlink(path.c_str());
  if (error == 0) return;
  const std::string mib = std::to_string((bytes >> 20) + 1) + " MiB";
  if (error == EFBIG)
    throw FileError("write " + mib + " to a file (see ulimit -f) in", folder, error);
  throw FileError("find " + mib + " of space in", folder, error);
}

void publish(FileOps& files, const std::string& temporary, const std::string& path) {
  struct stat replaced {};
  if (::stat(path.c_str(), &replaced) == 0)
    ::chmod(temporary.c_str(), replaced.st_mode & 07777);  // where it fails, by the umask
  files.sync(temporary);
  files.rename(temporary, path);
  files.sync_folder(folder_of(path));
}

void replace_file(FileOps& files, const std::string& path, std::string_view bytes) {
  const TemporaryFile temporary(path);
  files.write(temporary.path, bytes);
  publish(files, temporary.path, path);
}

void publish_new(FileOps& files, const std::string& temporary, const std::string& path) {
  files.sync(temporary);
  if (files.link(temporary, path)) {
    ::unlink(temporary.c_str());  // if this fails, the file has two names
  } else {                        // no hard links: a file created in between is overwritten
    if (path_exists(path)) throw FileError("create", path, EEXIST);
    files.rename(temporary, path);
  }
  files.sync_folder(folder_of(path));
}

void check_is_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw_read_error("open", path, errno);
  if (S_ISDIR(status.st_mode)) throw FileError("read", path, EISDIR);
  if (!S_ISREG(status.st_mode)) throw FileError("read", path, ESPIPE);
  static_cast<void>(Descriptor(path, O_RDONLY));
}

FileIdentity identity_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return {status.st_dev, status.st_ino, status.st_size};
  if (errno == ENOENT) return {};
  throw_read_error("look at", path, errno);
}

std::string resolved(const std::string& path) {
  constexpr int kMostLinks = 40;  // the limit of Linux
  std::filesystem::path at = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const std::filesystem::path to = std::filesystem::read_symlink(at, error);
    if (error) return at.string();
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  throw FileError("follow", path, ELOOP);
}

std::string temporary_name(const std::string& prefix) {
  unsigned long long random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random)
    throw FileError("find a name for", prefix, errno);
  return prefix + formatted(".%016llx.tmp", random);
}

void discard(const std::string& path) noexcept {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (status.st_nlink == 1 && ::truncate(path.c_str(), 0) != 0) errno = 0;
  ::unlink(path.c_str());
}

bool path_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::uint64_t bytes_at(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::string file_bytes(const std::string& path, std::size_t most) {
  return Descriptor(path, O_RDONLY).read(most);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error && error != std::errc::no_such_file_or_directory) {
    throw_read_error("list", folder, error.value());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace sweep
