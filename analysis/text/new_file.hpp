#pragma once
#include <filesystem>
#include <fstream>
#include <system_error>

namespace analysis {

/// A file that appears complete or not at all: it is written under a temporary name in the same
/// folder and renamed by commit(). The name is random and the file is newly created, so no file or
/// link of another process is followed, overwritten or removed. Without commit() no file is left,
/// and an existing file at the path is unchanged.
class NewFile {
 public:
  /// Throws std::system_error, which names the path, e.g. when the folder is missing or read-only,
  /// or when the path exists and is neither a file nor a link.
  explicit NewFile(std::filesystem::path path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Lets `write` fill the file and closes it. A failed write throws std::system_error, which names
  /// the path.
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
  std::filesystem::path temporary_;  // empty: there is none
  std::ofstream stream_;
};

}  // namespace analysis
