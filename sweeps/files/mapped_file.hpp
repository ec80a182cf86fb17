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
  enum class Access { read, write };
  /// Throws FileError.
  MappedFile(const std::string& path, Access access);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  /// May be changed only if the access is `write`.
  FileBytes bytes() const { return {static_cast<unsigned char*>(begin_), size_}; }

 private:
  std::size_t size_;
  void* begin_ = nullptr;
};

}  // namespace sweep
