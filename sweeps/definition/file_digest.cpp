#include "sweeps/definition/file_digest.hpp"

#include <filesystem>
#include <map>

#include "sweeps/definition/reading.hpp"
#include "sweeps/files/sha256.hpp"

namespace sweep {

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
