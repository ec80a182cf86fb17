#include "analysis/text/new_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

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

void write_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  const std::string what = "cannot write " + path.string();
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw WrongPath(EISDIR, std::generic_category(), what);
  if (!may_replace(path)) throw WrongPath(EEXIST, std::generic_category(), what);
  const std::string made = sweep::temporary_name((path.parent_path() / ".kvsweep").string());
  const sweep::Descriptor file(
      ::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (file.get() < 0) throw WrongPath(errno, std::generic_category(), what);
  try {
    std::ofstream stream(made, std::ios::binary);
    write(stream);
    errno = 0;
    stream.close();
    check_written(stream);
    fs::rename(made, path);
  } catch (const std::system_error& error) {
    ::unlink(made.c_str());
    throw std::system_error(error.code(), what);
  } catch (...) {
    ::unlink(made.c_str());
    throw;
  }
}

}  // namespace analysis
