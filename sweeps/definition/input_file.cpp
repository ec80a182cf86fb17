#include "sweeps/definition/input_file.hpp"

#include <filesystem>
#include <map>

#include "sweeps/definition/params.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/files/sha256.hpp"
#include "sweeps/text/input_text.hpp"

namespace sweep {

namespace {

/// Returns what `read()` returns. Throws SpecError for a folder and if the path is wrong;
/// ReadFailed stays.
template <class Read>
auto reading(const std::string& path, Read read) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored))
    throw SpecError(path + ": cannot be read: it is a folder");
  try {
    return read();
  } catch (const ReadFailed&) {
    throw;
  } catch (const FileError& error) {
    throw SpecError(path +
                    ": cannot be read: " + std::generic_category().message(error.error_number));
  }
}

void refuse_archive(std::string_view text, const std::string& path) {
  if (!text.starts_with("\x89HDF\r\n\x1a\n")) return;
  throw SpecError(path + ": is an archive (HDF5), and a TOML file is expected; `kvsweep table " +
                  path + "` shows its results, `kvsweep status " + path + "` what is left");
}

}  // namespace

std::string read_file(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{16} << 20;
  std::string text = reading(path, [&path] { return file_bytes(path, kMost + 1); });
  refuse_archive(text, path);
  if (text.size() > kMost)
    throw SpecError(path + ": is larger than the " + size_text(kMost) + " allowed");
  return text;
}

std::string sha256_of_file(const std::string& path) {
  constexpr std::size_t kPiece = 1 << 20;
  return reading(path, [&path] {
    const Descriptor in(path, 0);
    Sha256 sha;
    for (std::string piece; !(piece = in.read(kPiece)).empty();) sha.update(piece);
    return sha.hex();
  });
}

std::string sha256_of_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> digests;
  std::error_code problem;
  for (fs::directory_iterator entry(path, problem), end; !problem && entry != end;
       entry.increment(problem))
    if (entry->is_regular_file(problem))
      digests[entry->path().filename().string()] = sha256_of_file(entry->path().string());
  if (problem) throw SpecError(path + ": cannot be read: " + problem.message());
  std::string all;
  for (const auto& [name, digest] : digests) all += name + ' ' + digest + '\n';
  return sha256_of(all);
}

}  // namespace sweep
