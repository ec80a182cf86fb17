#pragma once
#include <cstddef>
#include <filesystem>
#include <span>

namespace model {

/// A read-only memory mapping of a file. Pages are read when they are touched: truncating the file
/// while it is mapped ends the process with SIGBUS.
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
