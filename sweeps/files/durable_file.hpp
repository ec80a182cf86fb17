#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sweep {

/// A call of the operating system failed. what() is "cannot <verb> <path>: <reason>".
struct FileError : std::runtime_error {
  FileError(const std::string& tried, const std::string& path, int error_number);
  int error_number;  // errno, e.g. ENOSPC
};

/// A read failed for a reason that says nothing about the file, e.g. EIO or EMFILE: the same read
/// may succeed later.
struct ReadFailed : FileError {
  using FileError::FileError;
};

/// Throws ReadFailed, or FileError if the errno is about the path, e.g. ENOENT or EACCES.
[[noreturn]] void throw_read_error(const std::string& tried, const std::string& path,
                                   int error_number);

/// Whether an errno says that a process lacks permission.
bool is_denied(int error_number);

/// Every change that an archive makes to a file system, except HDF5's writes to temporary files. A
/// test overrides these to stop, fail or lose a change. Each throws FileError.
class FileOps {
 public:
  virtual ~FileOps() = default;
  /// Creates or replaces a file. Not durable until it is synced.
  virtual void write(const std::string& path, std::string_view bytes);
  /// Appends to an existing file, in one write.
  virtual void append(const std::string& path, std::string_view bytes);
  /// Waits until the file's bytes are on the disk, on file systems that can do that.
  virtual void sync(const std::string& path);
  /// Replaces `to` atomically. Not durable until the folder is synced.
  virtual void rename(const std::string& from, const std::string& to);
  /// Gives the file a second name, which must not exist. False if the file system has no hard
  /// links.
  virtual bool link(const std::string& from, const std::string& to);
  /// Does nothing when there is no such file.
  virtual void remove(const std::string& path);
  /// Waits until the names in the folder are on the disk.
  virtual void sync_folder(const std::string& path);
  virtual void make_folder(const std::string& path);
  /// Throws when the folder's file system, its quota or the file size limit has no room for `bytes`
  /// more. Does not reserve them.
  virtual void require_space(const std::string& folder, std::uint64_t bytes);
};

/// Renames a finished temporary file to `path`, durably, with the permissions of the file that it
/// replaces. `path` is never incomplete.
void publish(FileOps& files, const std::string& temporary, const std::string& path);

/// Writes a file that is published, or is not there.
void replace_file(FileOps& files, const std::string& path, std::string_view bytes);

/// Publishes to a `path` that must not exist. Throws FileError (EEXIST) if it does.
void publish_new(FileOps& files, const std::string& temporary, const std::string& path);

/// Throws FileError unless the path leads to a regular file that can be opened. Reading from a pipe
/// or a device may block forever.
void check_is_file(const std::string& path);

/// Identifies the file at a path. It differs for another file at the same path, and usually for the
/// same file with other contents.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  off_t bytes = 0;
  bool operator==(const FileIdentity&) const = default;
};
/// All zero when nothing is at the path. Throws FileError.
FileIdentity identity_of(const std::string& path);

/// The path that `path` leads to through symbolic links; a file need not exist there. Throws
/// FileError for cyclic links.
std::string resolved(const std::string& path);

/// `prefix`, random digits and ".tmp": a name that no other process on any host makes.
std::string temporary_name(const std::string& prefix);

/// Removes an unwanted file. Unless the file has another name, also frees its space while a
/// descriptor of it is still open. Never fails.
void discard(const std::string& path) noexcept;

/// A temporary name. The destructor discards the file that still has it.
struct TemporaryFile {
  explicit TemporaryFile(const std::string& prefix) : path(temporary_name(prefix)) {}
  ~TemporaryFile() { discard(path); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string path;
};

/// Whether a path leads to something.
bool path_exists(const std::string& path);
/// Size of a file; 0 if it does not exist.
std::uint64_t bytes_at(const std::string& path);
/// Contents of a file, at most `most` bytes. Throws FileError.
std::string file_bytes(const std::string& path, std::size_t most = std::string::npos);
/// Names in a folder, sorted; empty if the folder does not exist.
std::vector<std::string> names_in(const std::string& folder);
/// The folder part of a path; "." for a bare name.
std::string folder_of(const std::string& path);

/// Owns an open file descriptor.
class Descriptor {
 public:
  /// Throws FileError when it cannot be opened. `flags` as for open(2), without O_CLOEXEC; `mode`
  /// is that of a new file, before the umask.
  Descriptor(const std::string& path, int flags, unsigned mode = 0666);
  /// Takes ownership of an open descriptor.
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return descriptor_; }
  void write(std::string_view bytes) const;
  /// Reads from the current position to the end, or `most` bytes.
  std::string read(std::size_t most = std::string::npos) const;
  /// Throws FileError: some file systems report a full disk only here.
  void close();

 private:
  std::string path_;
  int descriptor_;
};

}  // namespace sweep
