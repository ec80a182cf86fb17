#pragma once
#include <cstddef>
#include <filesystem>
#include <span>

namespace model {

/// A file in memory, read-only, as long as the object lives. Pages are read when they are touched:
/// a file that is truncated meanwhile ends the process with SIGBUS.
class MappedFile {
 public:
  /// Throws engine::InputError when the file cannot be opened or mapped.
  explicit MappedFile(const std::filesystem::path& file);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) = delete;
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(begin_), size_};
  }

 private:
  void* begin_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace model
