#pragma once
#include <sys/types.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sweep {

/// The operating system refused. what() is "cannot <verb> <path>: <reason>".
struct FileError : std::runtime_error {
  FileError(const std::string& tried, const std::string& path, int error_number);
  int error_number;  // errno, e.g. ENOSPC
};

/// Every change that an archive makes to a file system besides HDF5's writes to temporary files:
/// one place to stop, fail or lose it in a test. Each throws FileError.
class FileOps {
 public:
  virtual ~FileOps() = default;
  /// Creates or replaces a file. Not durable until it is synced.
  virtual void write(const std::string& path, std::string_view bytes);
  /// To a file that is there, in one write.
  virtual void append(const std::string& path, std::string_view bytes);
  /// Creates `to`, where nothing may be.
  virtual void copy(const std::string& from, const std::string& to);
  /// Waits until the file's bytes are on the disk.
  virtual void sync(const std::string& path);
  /// Replaces `to` in one instant. Not durable until the folder is synced.
  virtual void rename(const std::string& from, const std::string& to);
  /// Gives the file a second name, which nothing has yet. False where the file system has no hard
  /// links.
  virtual bool link(const std::string& from, const std::string& to);
  /// Does nothing when there is no such file.
  virtual void remove(const std::string& path);
  /// Waits until the names in the folder are on the disk.
  virtual void sync_folder(const std::string& path);
  virtual void make_folder(const std::string& path);
  /// Throws when the folder's file system, quota or the limit on file sizes has no room for so many
  /// bytes more. They are not kept.
  virtual void require_space(const std::string& folder, std::uint64_t bytes);
};

/// Makes a finished temporary file the file `path`: durable, complete, or not there at all.
void publish(FileOps& files, const std::string& temporary, const std::string& path);

/// The same, where nothing may be at `path`. Throws FileError (EEXIST) when something is.
void publish_new(FileOps& files, const std::string& temporary, const std::string& path);

/// Throws FileError where the path leads to a folder, a pipe or a device, or to nothing: to read
/// from these may block forever.
void check_is_file(const std::string& path);

/// Which file a path names. Another file that takes its place differs; so, mostly, does the same
/// file with other contents.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  off_t bytes = 0;
  bool operator==(const FileIdentity&) const = default;
};
/// All zero when nothing is at the path. Throws FileError.
FileIdentity identity_of(const std::string& path);

/// The path of the file that `path` leads to through symbolic links, which need not exist. Throws
/// FileError for links without end.
std::string resolved(const std::string& path);

/// `prefix`, random digits and ".tmp": a name that no other process makes, on whatever host.
std::string temporary_name(const std::string& prefix);

/// Removes the name of a file that is not wanted and, unless it has another name, frees its space
/// also while a descriptor of it is still open. Never fails.
void discard(const std::string& path) noexcept;

/// Size of a file; 0 when there is none.
std::uint64_t bytes_at(const std::string& path);
/// Bytes of a file. Throws FileError.
std::string file_bytes(const std::string& path);
/// Names in a folder, sorted; none when there is no folder.
std::vector<std::string> names_in(const std::string& folder);
/// "." for a bare name.
std::string folder_of(const std::string& path);

/// Owns an open file descriptor.
class Descriptor {
 public:
  /// Throws FileError when it cannot be opened. `flags` as for open(2), without O_CLOEXEC; `mode`
  /// of a new file, less the umask.
  Descriptor(const std::string& path, int flags, unsigned mode = 0666);
  /// Owns one that is open already.
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return descriptor_; }
  void write(std::string_view bytes) const;
  /// Everything from where it is to the end.
  std::string read() const;
  /// Throws FileError: some file systems report a full disk only here.
  void close();

 private:
  std::string path_;
  int descriptor_;
};

}  // namespace sweep
