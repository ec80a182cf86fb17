#include "tests/support/shared.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace fs = std::filesystem;

namespace support {

std::optional<fs::path> shared_path(const std::string& relative) {
  const char* root = std::getenv("KVSWEEP_SHARED");
  fs::path path =
      (root != nullptr ? fs::path(root) : fs::path(KVSWEEP_SOURCE_DIR) / ".." / "shared") /
      relative;
  if (!fs::exists(path)) return std::nullopt;
  return path;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int scaled(int documented) { return std::max(1, documented / stride()); }

int stride() {
  const char* scale = std::getenv("KVSWEEP_TEST_SCALE");
  return std::max(1, scale != nullptr ? std::atoi(scale) : 1);
}

TempDir::TempDir() {
  std::string name = (fs::temp_directory_path() / "kvsweep-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed for " + name);
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TempDir::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
  return (path_ / name).string();
}

}  // namespace support
