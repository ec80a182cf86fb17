#pragma once
#include <filesystem>
#include <fstream>
#include <ostream>

namespace analysis {

/// A file that appears complete or not at all: written as "<path>.partial" and renamed by commit().
/// Without commit() nothing is left, and a file that was there before stays as it was.
class NewFile {
 public:
  /// Throws std::system_error naming the path, e.g. when the folder is missing or read-only.
  explicit NewFile(std::filesystem::path path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Lets `write` fill the file and closes it. What the stream refuses is thrown as a
  /// std::system_error that names the path.
  template <class Write>
  void fill(Write write) {
    try {
      write(static_cast<std::ostream&>(stream_));
      close();
    } catch (const std::system_error& error) {
      fail(error.code());
    }
  }
  void commit();

 private:
  void close();
  [[noreturn]] void fail(std::error_code code) const;

  std::filesystem::path path_;
  std::filesystem::path partial_;
  std::ofstream stream_;
  bool committed_ = false;
};

}  // namespace analysis
