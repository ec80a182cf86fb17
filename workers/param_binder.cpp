#include "workers/param_binder.hpp"

#include "sweeps/sha256.hpp"

namespace worker {

std::optional<int> ParamBinder::optional_small(const std::string& key, int min, int max) {
  if (!has(key)) return std::nullopt;
  return small(key, min, min, max);
}

std::optional<double> ParamBinder::optional_number(const std::string& key, double min, double max) {
  if (!has(key)) return std::nullopt;
  return number(key, min, min, max);
}

/// A file's paths count from the file; line 0 means the command line.
std::string ParamBinder::absolute(const std::string& key, const std::string& path) const {
  const sweep::Location where = reader_.where(key);
  const auto base =
      where.line > 0 ? std::filesystem::path(where.file).parent_path() : std::filesystem::path();
  return (base / path).lexically_normal().string();
}

std::string ParamBinder::folder(const std::string& key) {
  const std::string path = reader_.text(key, "");
  if (path.empty()) return path;
  const std::string full = absolute(key, path);
  if (!std::filesystem::is_directory(full)) reader_.fail(key, "names no folder (" + full + ")");
  return full;
}

std::string ParamBinder::file(const std::string& key) {
  const std::string path = reader_.text(key, "");
  if (path.empty()) return path;
  const std::string full = absolute(key, path);
  if (!std::filesystem::is_regular_file(full)) reader_.fail(key, "names no file (" + full + ")");
  record(key + ".sha256", sweep::sha256_of_file(full));
  return full;
}

}  // namespace worker
