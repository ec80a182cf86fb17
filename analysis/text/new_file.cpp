#include "analysis/text/new_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "analysis/text/json.hpp"
#include "sweeps/files/durable_file.hpp"

namespace analysis {
namespace {

namespace fs = std::filesystem;

/// Renaming over a device or a pipe would replace it.
bool may_replace(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::symlink_status(path, ignored);
  return !fs::exists(status) || fs::is_regular_file(status) || fs::is_symlink(status);
}

}  // namespace

NewFile::NewFile(fs::path path) : path_(std::move(path)) {
  if (fs::is_directory(path_)) fail(std::make_error_code(std::errc::is_a_directory));
  if (!may_replace(path_)) fail(std::make_error_code(std::errc::file_exists));
  const fs::path name = sweep::temporary_name((path_.parent_path() / ".kvsweep").string());
  const int made = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
  if (made < 0) fail({errno, std::generic_category()});
  ::close(made);
  temporary_ = name;
  stream_.open(temporary_, std::ios::binary);
}

NewFile::~NewFile() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

void NewFile::close() {
  errno = 0;
  stream_.close();
  check_written(stream_);
}

void NewFile::commit() {
  std::error_code error;
  fs::rename(temporary_, path_, error);
  if (error) fail(error);
  temporary_.clear();
}

void NewFile::fail(std::error_code code) const {
  throw std::system_error(code, "cannot write " + path_.string());
}

}  // namespace analysis
