#pragma once
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

/// Every change that an archive makes to a file system besides HDF5's writes to files that have no
/// name yet anybody reads: one place to stop, fail or lose it in a test. Each throws FileError.
class FileOps {
 public:
  virtual ~FileOps() = default;
  /// Creates or replaces a file. Not durable until it is synced.
  virtual void write(const std::string& path, std::string_view bytes);
  /// To a file that is there, in one write.
  virtual void append(const std::string& path, std::string_view bytes);
  virtual void copy(const std::string& from, const std::string& to);
  /// Waits until the file's bytes are on the disk.
  virtual void sync(const std::string& path);
  /// Replaces `to` in one instant. Not durable until the folder is synced.
  virtual void rename(const std::string& from, const std::string& to);
  /// Does nothing when there is no such file.
  virtual void remove(const std::string& path);
  /// Waits until the names in the folder are on the disk.
  virtual void sync_folder(const std::string& path);
  virtual void make_folder(const std::string& path);
};

/// Makes a finished temporary file the file `path`: durable, complete, or not there at all.
void publish(FileOps& files, const std::string& temporary, const std::string& path);

/// Bytes of a file. Throws FileError.
std::string file_bytes(const std::string& path);
/// Names in a folder, sorted; none when there is no folder.
std::vector<std::string> names_in(const std::string& folder);
/// "." for a bare name.
std::string folder_of(const std::string& path);

/// Owns an open file descriptor.
class Descriptor {
 public:
  /// Throws FileError when it cannot be opened. `flags` as for open(2), without O_CLOEXEC.
  Descriptor(const std::string& path, int flags);
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
