#include "analysis/new_file.hpp"

#include <cerrno>
#include <system_error>

#include "analysis/json_line.hpp"

namespace analysis {

NewFile::NewFile(std::filesystem::path path) : path_(std::move(path)), partial_(path_) {
  partial_ += ".partial";
  errno = 0;
  stream_.open(partial_, std::ios::binary | std::ios::trunc);
  if (!stream_) fail({errno != 0 ? errno : EIO, std::generic_category()});
}

NewFile::~NewFile() {
  if (committed_) return;
  stream_.close();
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
}

void NewFile::close() {
  errno = 0;
  stream_.close();
  check_written(stream_);
}

void NewFile::commit() {
  std::error_code error;
  std::filesystem::rename(partial_, path_, error);
  if (error) fail(error);
  committed_ = true;
}

void NewFile::fail(std::error_code code) const {
  throw std::system_error(code, "cannot write " + path_.string());
}

}  // namespace analysis
