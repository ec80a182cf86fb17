#pragma once
#include <filesystem>
#include <memory>
#include <ostream>

namespace analysis {

/// A file that appears complete or not at all: written under a name of its own in the same folder
/// and renamed by commit(). That name is random and the file is created by this, so that no file or
/// link of another process is followed, overwritten or removed. Without commit() nothing is left,
/// and a file that was there before stays as it was.
class NewFile {
 public:
  /// Throws std::system_error naming the path, e.g. when the folder is missing or read-only, or
  /// when the path is there and neither a file nor a link.
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
  void create();
  void close();
  [[noreturn]] void fail(std::error_code code) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty: there is none
  std::unique_ptr<std::streambuf> file_;
  std::ostream stream_;
};

}  // namespace analysis
