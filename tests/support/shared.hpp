#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace support {

/// The optional folder of reference data beside the checkout; tests that need it skip without it.
std::optional<std::filesystem::path> shared_path(const std::string& relative);

/// The content of a file; of a FIFO, what is written until its writers have closed it.
std::string text_of(const std::filesystem::path& path);

/// Divides `documented` (the count of the documented run) by KVSWEEP_TEST_SCALE; at least 1.
int scaled(int documented);
/// KVSWEEP_TEST_SCALE: the distance of the places that are tried where the documented run tries
/// each.
int stride();

/// A fresh folder, removed with everything in it at the end of the test.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }
  /// Writes `text` to a file of this name and returns its path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

}  // namespace support
