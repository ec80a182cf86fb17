#include "sweeps/files/twofold.hpp"

#include <random>

#include "tests/support/catch.hpp"

using namespace sweep;

namespace {

std::string some_bytes(std::size_t size) {
  std::mt19937 random(1);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

}  // namespace

TEST_CASE("the worked example of a piece is what is made of its bytes") {
  const std::string piece =
      "kvsweep spare copy, piece at 00000000 00000005 94dd4465b24cd912\nbytes" +
      std::string(1019, '\0');
  CHECK(twofold("bytes") == piece + piece);
}

TEST_CASE("bytes come back from the end of a file, whatever is ahead of them", "[files]") {
  for (const std::size_t size : {1u, 1023u, 1024u, 1025u, 5000u}) {
    const std::string bytes = some_bytes(size), file = "ahead of it" + twofold(bytes);
    CHECK(untwofold(file) == bytes);
    CHECK(twofold_bytes(file) == twofold(bytes).size());
  }
  CHECK_FALSE(untwofold(""));
  CHECK_FALSE(untwofold(some_bytes(5000)));
}

TEST_CASE("flipped bits in both copies cost nothing, unless they hit the same byte twice",
          "[files]") {
  const std::string bytes = some_bytes(3000), whole = twofold(bytes);
  std::mt19937 random(2);
  for (int trial = 0; trial < 100; ++trial) {
    std::string file = whole;
    for (std::size_t i = 0; i < 5; ++i) {
      const std::size_t apart = whole.size() / 10;  // of a copy
      char& byte = file[i * apart + random() % apart + random() % 2 * whole.size() / 2];
      byte = static_cast<char>(byte ^ 1 << random() % 8);
    }
    CHECK(untwofold(file) == bytes);
  }
  std::string file = whole;
  file[100] = static_cast<char>(file[100] ^ 1);
  file[100 + whole.size() / 2] = static_cast<char>(file[100 + whole.size() / 2] ^ 2);
  CHECK_FALSE(untwofold(file));
}
