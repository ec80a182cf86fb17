#include "analysis/text/new_file.hpp"

#include <fcntl.h>
#include <ext/stdio_filebuf.h>

#include <cerrno>
#include <random>
#include <system_error>

#include "analysis/text/json_line.hpp"

namespace analysis {
namespace {

namespace fs = std::filesystem;
using FileBuffer = __gnu_cxx::stdio_filebuf<char>;

/// A name that no other process can predict.
std::string random_name() {
  std::random_device random;
  std::string name = ".kvsweep-";
  for (int digits = 0; digits < 16; ++digits) name += "0123456789abcdef"[random() % 16];
  return name + ".tmp";
}

/// Renaming over a device or a pipe would replace it.
bool may_replace(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::symlink_status(path, ignored);
  return !fs::exists(status) || fs::is_regular_file(status) || fs::is_symlink(status);
}

}  // namespace

NewFile::NewFile(fs::path path) : path_(std::move(path)), stream_(nullptr) {
  if (fs::is_directory(path_)) fail(std::make_error_code(std::errc::is_a_directory));
  if (!may_replace(path_)) fail(std::make_error_code(std::errc::file_exists));
  create();
}

void NewFile::create() {
  constexpr int kMode = 0666;
  int descriptor = -1;
  do {
    temporary_ = path_.parent_path() / random_name();
    descriptor =
        ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode);
  } while (descriptor < 0 && errno == EEXIST);
  if (descriptor < 0) {
    temporary_.clear();
    fail({errno, std::generic_category()});
  }
  file_ = std::make_unique<FileBuffer>(descriptor, std::ios::out | std::ios::binary);
  stream_.rdbuf(file_.get());
}

NewFile::~NewFile() {
  file_.reset();
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

void NewFile::close() {
  errno = 0;
  if (static_cast<FileBuffer&>(*file_).close() == nullptr) stream_.setstate(std::ios::failbit);
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
