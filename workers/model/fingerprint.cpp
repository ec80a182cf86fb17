#include "workers/model/fingerprint.hpp"

#include <array>
#include <bit>
#include <cstdio>
#include <cstring>

namespace model {
namespace {

constexpr std::uint64_t kPrime1 = 0x9e3779b185ebca87u;
constexpr std::uint64_t kPrime2 = 0xc2b2ae3d27d4eb4fu;
constexpr std::uint64_t kPrime3 = 0x165667b19e3779f9u;
constexpr std::uint64_t kPrime4 = 0x85ebca77c2b2ae63u;
constexpr std::uint64_t kPrime5 = 0x27d4eb2f165667c5u;

template <class Word>
Word load(const std::byte* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

constexpr std::uint64_t round_of(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

using Lanes = std::array<std::uint64_t, 4>;
constexpr std::size_t kStripe = sizeof(Lanes);

/// Four independent lanes over the whole stripes; returns them merged.
std::uint64_t mix_stripes(const std::byte* at, std::size_t stripes, std::uint64_t seed) {
  Lanes lanes{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
  for (std::size_t i = 0; i < stripes; ++i, at += kStripe)
    for (std::size_t lane = 0; lane < lanes.size(); ++lane)
      lanes[lane] = round_of(lanes[lane], load<std::uint64_t>(at + 8 * lane));
  std::uint64_t hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
                       std::rotl(lanes[3], 18);
  for (const std::uint64_t lane : lanes) hash = (hash ^ round_of(0, lane)) * kPrime1 + kPrime4;
  return hash;
}

std::uint64_t mix_tail(std::uint64_t hash, std::span<const std::byte> tail) {
  for (; tail.size() >= 8; tail = tail.subspan(8))
    hash = std::rotl(hash ^ round_of(0, load<std::uint64_t>(tail.data())), 27) * kPrime1 + kPrime4;
  if (tail.size() >= 4) {
    hash ^= load<std::uint32_t>(tail.data()) * kPrime1;
    hash = std::rotl(hash, 23) * kPrime2 + kPrime3;
    tail = tail.subspan(4);
  }
  for (const std::byte byte : tail)
    hash = std::rotl(hash ^ std::to_integer<std::uint64_t>(byte) * kPrime5, 11) * kPrime1;
  return hash;
}

}  // namespace

std::uint64_t xxh64(std::span<const std::byte> bytes, std::uint64_t seed) {
  const std::size_t stripes = bytes.size() / kStripe;
  std::uint64_t hash = stripes > 0 ? mix_stripes(bytes.data(), stripes, seed) : seed + kPrime5;
  hash = mix_tail(hash + bytes.size(), bytes.subspan(stripes * kStripe));
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

std::string fingerprint(std::span<const std::byte> bytes) {
  std::array<char, 33> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx%016llx",
                static_cast<unsigned long long>(xxh64(bytes, 0)),
                static_cast<unsigned long long>(xxh64(bytes, 1)));
  return digits.data();
}

std::string fingerprint(std::string_view text) {
  return fingerprint(std::as_bytes(std::span(text)));
}

}  // namespace model
