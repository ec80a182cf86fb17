#pragma once
// Private to this folder: a file as bytes.
#include <cstddef>
#include <span>
#include <string>

namespace sweep {

using FileBytes = std::span<unsigned char>;

/// A file in memory as long as the object lives. A file that is truncated meanwhile ends the
/// process with SIGBUS.
class MappedFile {
 public:
  enum class Access { read, write };
  /// Throws FileError.
  MappedFile(const std::string& path, Access access);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  /// To be changed only where the access is `write`.
  FileBytes bytes() const { return {static_cast<unsigned char*>(begin_), size_}; }

 private:
  std::size_t size_;
  void* begin_ = nullptr;
};

}  // namespace sweep
