#include "analysis/text/new_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <memory>

#include "analysis/text/json.hpp"
#include "sweeps/files/durable_file.hpp"

namespace analysis {

void write_file(const std::filesystem::path& path,
                const std::function<void(std::ostream&)>& write) {
  namespace fs = std::filesystem;
  const std::string what = "cannot write " + path.string();
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw WrongPath(EISDIR, std::generic_category(), what);
  const fs::file_status there = fs::symlink_status(path, ignored);
  // Renaming over a device or a pipe would replace it.
  if (fs::is_other(there)) throw WrongPath(EEXIST, std::generic_category(), what);
  const std::string made = sweep::temporary_name((path.parent_path() / ".kvsweep").string());
  const sweep::Descriptor file(
      ::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (file.get() < 0) throw WrongPath(errno, std::generic_category(), what);
  const auto remove = [](const std::string* name) { ::unlink(name->c_str()); };
  // Once the file has its own name, nothing is left to remove.
  const std::unique_ptr<const std::string, decltype(remove)> removed(&made, remove);
  try {
    std::ofstream stream(made, std::ios::binary);
    write(stream);
    errno = 0;
    stream.close();
    check_written(stream);
    fs::rename(made, path);
  } catch (const std::system_error& error) {
    throw std::system_error(error.code(), what);
  }
}

}  // namespace analysis
