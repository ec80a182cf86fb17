// One executable a target, which KVSWEEP_FUZZ_TARGET names.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/targets.hpp"

namespace {

const fuzz::Target& target() {
  static const fuzz::Target& kTarget = fuzz::target(KVSWEEP_FUZZ_TARGET);
  return kTarget;
}

/// As libFuzzer's -dict reads it.
std::string quoted(const std::string& word) {
  constexpr const char* kHex = "0123456789ABCDEF";
  std::string text = "\"";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    text += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
  }
  return text + "\"\n";
}

}  // namespace

/// Writes seeds and words where KVSWEEP_FUZZ_SEEDS says, for run-fuzzers.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* folder = std::getenv("KVSWEEP_FUZZ_SEEDS");
  if (folder == nullptr) return 0;
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& seed : target().seeds())
    std::ofstream(std::string(folder) + "/seed-" + std::to_string(number++), std::ios::binary)
        << seed;
  std::ofstream words(std::string(folder) + ".dict");
  for (const std::string& word : target().words) words << quoted(word);
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target().accepts({reinterpret_cast<const char*>(data), size});
  return 0;
}
