#include "sweeps/files/sha256.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sweeps/files/sha256_blocks.hpp"

namespace sweep {

namespace {

// First 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS
// 180-4, 4.2.2).
constexpr std::array<std::uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian_word(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

/// One round (FIPS 180-4, 6.2.2). The caller renames the eight words instead of moving them: `d`
/// and `h` become what the next round calls e and a.
inline void mix(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t& d,
                std::uint32_t e, std::uint32_t f, std::uint32_t g, std::uint32_t& h,
                std::uint32_t addend) {
  const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
  const std::uint32_t t1 = h + addend + (g ^ (e & (f ^ g))) + s1;
  const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
  d += t1;
  h = t1 + s0 + ((a & b) | (c & (a | b)));
}

using State = std::array<std::uint32_t, 8>;

// Number of message schedules computed in parallel; compilers vectorize over them.
constexpr std::size_t kLanes = 8;
using Lanes = std::uint32_t __attribute__((vector_size(4 * kLanes)));
using Schedules = std::array<Lanes, 64>;  // by round and block

// Compiles a function twice and selects a version at program start by the processor: 256-bit
// instructions for the schedules, three-operand rotations for the rounds. Off under the thread
// sanitizer: GCC makes the selection call it before it is initialized, so programs do not start.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define KVSWEEP_CLONES(instructions) __attribute__((target_clones(instructions, "default")))
#else
#define KVSWEEP_CLONES(instructions)
#endif

/// The addend of each round: the message schedule (FIPS 180-4, 6.2.2, step 1) plus the round's
/// constant. Lanes from `count` on repeat the last block.
KVSWEEP_CLONES("avx2")
void form_schedules(const unsigned char* blocks, std::size_t count, Schedules& w) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const unsigned char* block = blocks + 64 * std::min(lane, count - 1);
    for (std::size_t t = 0; t < 16; ++t) w[t][lane] = big_endian_word(block + 4 * t);
  }
  for (std::size_t t = 16; t < 64; ++t) {
    const Lanes a = w[t - 15], b = w[t - 2];
    const Lanes s0 = (a >> 7 | a << 25) ^ (a >> 18 | a << 14) ^ (a >> 3);
    const Lanes s1 = (b >> 17 | b << 15) ^ (b >> 19 | b << 13) ^ (b >> 10);
    w[t] = s1 + w[t - 7] + s0 + w[t - 16];
  }
  for (std::size_t t = 0; t < 64; ++t) w[t] += kRoundConstants[t];
}

KVSWEEP_CLONES("bmi2")
void mix_block(State& state, const Schedules& addends, std::size_t lane) {
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < 64; t += 8) {
    mix(a, b, c, d, e, f, g, h, addends[t][lane]);
    mix(h, a, b, c, d, e, f, g, addends[t + 1][lane]);
    mix(g, h, a, b, c, d, e, f, addends[t + 2][lane]);
    mix(f, g, h, a, b, c, d, e, addends[t + 3][lane]);
    mix(e, f, g, h, a, b, c, d, addends[t + 4][lane]);
    mix(d, e, f, g, h, a, b, c, addends[t + 5][lane]);
    mix(c, d, e, f, g, h, a, b, addends[t + 6][lane]);
    mix(b, c, d, e, f, g, h, a, addends[t + 7][lane]);
  }
  const State mixed = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += mixed[i];
}

/// Adds `count` blocks to the state.
void mix_blocks(State& state, const unsigned char* blocks, std::size_t count) {
  if (has_sha_instructions()) {
    return mix_blocks_by_instruction(state, blocks, count, kRoundConstants.data());
  }
  Schedules addends;
  for (std::size_t first = 0; first < count; first += kLanes) {
    const std::size_t lanes = std::min(count - first, kLanes);
    form_schedules(blocks + 64 * first, lanes, addends);
    for (std::size_t lane = 0; lane < lanes; ++lane) mix_block(state, addends, lane);
  }
}

}  // namespace

void Sha256::compress(const unsigned char* block) { mix_blocks(state_, block, 1); }

void Sha256::update(std::string_view bytes) {
  length_ += bytes.size();
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  while (left > 0) {
    if (filled_ == 0 && left >= block_.size()) {
      const std::size_t blocks = left / block_.size();
      mix_blocks(state_, data, blocks);
      data += blocks * block_.size(), left -= blocks * block_.size();
      continue;
    }
    const std::size_t taken = std::min(left, block_.size() - filled_);
    std::memcpy(block_.data() + filled_, data, taken);
    data += taken, left -= taken, filled_ += taken;
    if (filled_ == block_.size()) compress(block_.data()), filled_ = 0;
  }
}

/// Pads to a whole block: a one bit, zeros, and the length in bits as a 64-bit big-endian number.
void Sha256::pad() {
  const std::uint64_t bits = length_ * 8;
  const std::size_t zeros = (filled_ < 56 ? 55 : 119) - filled_;
  std::string tail(1, '\x80');
  tail.append(zeros, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) tail += static_cast<char>(bits >> shift & 0xff);
  update(tail);
}

std::string Sha256::hex() {
  static constexpr char kDigits[] = "0123456789abcdef";
  pad();
  std::string text;
  for (const std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[word >> shift & 15];
  }
  return text;
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::string sha256_of(std::string_view bytes) {
  Sha256 sha;
  sha.update(bytes);
  return sha.hex();
}

}  // namespace sweep
