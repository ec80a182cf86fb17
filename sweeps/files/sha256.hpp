#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sweep {

/// SHA-256 (FIPS 180-4) of a stream of bytes.
class Sha256 {
 public:
  void update(std::string_view bytes);
  /// The digest as 64 lower-case hex digits. Do not call update() after it.
  std::string hex();

 private:
  void compress(const unsigned char* block);  // 64 bytes
  void pad();

  // First 32 bits of the fractional parts of the square roots of the first eight primes (FIPS
  // 180-4, 5.3.3).
  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> block_{};
  std::size_t filled_ = 0;    // bytes of block_ in use, below 64
  std::uint64_t length_ = 0;  // bytes so far
};

std::string sha256_of(std::string_view bytes);

/// Whether a text has the form of a digest: 64 lower-case hex digits.
bool is_sha256(std::string_view text);

}  // namespace sweep
