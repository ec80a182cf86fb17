#include "sweeps/hdf5/codec.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "sweeps/hdf5/h5.hpp"

namespace sweep {

namespace {

/// Bytes of the values that are moved at a time, so that both sides stay in the nearest cache.
constexpr std::size_t kBlockBytes = 8192;

/// Values of a block; whole cache lines of their bytes.
constexpr std::size_t block_of(std::size_t width) {
  return std::max<std::size_t>(64, kBlockBytes / width);
}

/// Calls `move` with the width, as a constant if it is a number's.
template <class Move>
void with_width(std::size_t width, const Move& move) {
  if (width == 1) return move(std::integral_constant<std::size_t, 1>());
  if (width == 4) return move(std::integral_constant<std::size_t, 4>());
  if (width == 8) return move(std::integral_constant<std::size_t, 8>());
  move(width);
}

/// Fletcher's checksum over big-endian 16-bit words, as HDF5's filter computes it (H5checksum.c).
std::uint32_t fletcher32(std::string_view bytes) {
  constexpr std::size_t kMostWords = 360;  // the most words before a sum could exceed 32 bits
  std::uint32_t sum1 = 0, sum2 = 0;
  const auto fold = [](std::uint32_t sum) { return (sum & 0xffff) + (sum >> 16); };
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  for (std::size_t words = bytes.size() / 2; words > 0;) {
    const std::size_t block = std::min(words, kMostWords);
    words -= block;
    for (std::size_t i = 0; i < block; ++i, at += 2) {
      sum1 += static_cast<std::uint32_t>(at[0] << 8 | at[1]);
      sum2 += sum1;
    }
    sum1 = fold(sum1);
    sum2 = fold(sum2);
  }
  if (bytes.size() % 2 != 0) {
    sum1 = fold(sum1 + static_cast<std::uint32_t>(at[0] << 8));
    sum2 = fold(sum2 + sum1);
  }
  return fold(sum2) << 16 | fold(sum1);
}

}  // namespace

std::uint32_t stored_sum(std::string_view chunk) {
  std::uint32_t sum = 0;
  if (chunk.size() > sizeof sum)
    std::memcpy(&sum, chunk.data() + chunk.size() - sizeof sum, sizeof sum);
  return sum;
}

bool has_fletcher32(std::string_view chunk) {
  const std::uint32_t stored = stored_sum(chunk);
  return stored != 0 && stored == fletcher32(chunk.substr(0, chunk.size() - sizeof stored));
}

void shuffle_bytes(const char* values, std::size_t count, std::size_t width, char* out,
                   std::size_t plane) {
  with_width(width, [&](auto bytes) {
    for (std::size_t first = 0; first < count; first += block_of(bytes)) {
      const std::size_t end = std::min(count, first + block_of(bytes));
      for (std::size_t byte = 0; byte < bytes; ++byte)
        for (std::size_t i = first; i < end; ++i) out[byte * plane + i] = values[i * bytes + byte];
    }
  });
}

void unshuffle_bytes(const char* shuffled, std::size_t plane, std::size_t count, std::size_t width,
                     char* values) {
  with_width(width, [&](auto bytes) {
    for (std::size_t first = 0; first < count; first += block_of(bytes)) {
      const std::size_t end = std::min(count, first + block_of(bytes));
      if constexpr (std::is_same_v<decltype(bytes), std::size_t>) {  // of texts, which are long
        for (std::size_t byte = 0; byte < bytes; ++byte)
          for (std::size_t i = first; i < end; ++i)
            values[i * bytes + byte] = shuffled[byte * plane + i];
      } else {
        for (std::size_t i = first; i < end; ++i)
          for (std::size_t byte = 0; byte < bytes; ++byte)
            values[i * bytes + byte] = shuffled[byte * plane + i];
      }
    }
  });
}

std::string pack_shuffled(std::string_view shuffled) {
  std::string stored = deflated(shuffled);
  if (stored.empty()) throw H5Error("cannot compress a chunk");
  const std::uint32_t sum = fletcher32(stored);
  return stored.append(reinterpret_cast<const char*>(&sum), sizeof sum);
}

std::optional<std::string> unpack_shuffled(std::string_view stored, std::size_t size) {
  if (!has_fletcher32(stored)) return std::nullopt;
  std::string shuffled(size, '\0');
  stored.remove_suffix(sizeof(std::uint32_t));
  if (!inflate_to(shuffled, stored)) return std::nullopt;
  return shuffled;
}

}  // namespace sweep
