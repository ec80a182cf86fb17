#pragma once
// A file mapped into memory.
#include <cstddef>
#include <span>
#include <string>

namespace sweep {

using FileBytes = std::span<unsigned char>;

/// Maps a file into memory for the lifetime of the object. If the file is truncated meanwhile, an
/// access ends the process with SIGBUS.
class MappedFile {
 public:
  /// Maps a file whose bytes may be changed. Throws FileError, as does the next constructor.
  explicit MappedFile(const std::string& path);
  /// Maps an open file read-only, even if another file has taken its name.
  explicit MappedFile(int descriptor);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  FileBytes bytes() const { return {static_cast<unsigned char*>(begin_), size_}; }

 private:
  void map(int descriptor, int protection, int flags);

  std::size_t size_ = 0;
  void* begin_ = nullptr;
};

}  // namespace sweep
