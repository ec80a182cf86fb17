#include "sweeps/spec/file_digest.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "sweeps/files/sha256.hpp"
#include "sweeps/spec/params.hpp"

namespace sweep {

std::string sha256_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw SpecError(path + ": cannot be read: " + std::strerror(errno));
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    throw SpecError(path + ": cannot be read: it is a folder");
  }
  Sha256 sha;
  std::vector<char> buffer(1 << 16);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0) {
    sha.update({buffer.data(), static_cast<std::size_t>(in.gcount())});
  }
  if (in.bad()) throw SpecError(path + ": cannot be read: " + std::strerror(errno));
  return sha.hex();
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
