#pragma once
// Chunks of a dataset as HDF5 stores them: shuffled, deflated, with Fletcher's checksum. They are
// the chunks that the library's own filters write and read, without its cost.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sweep {

/// A chunk as it is stored.
using StoredChunk = std::vector<unsigned char>;

/// Fletcher's checksum over big-endian 16-bit words, as HDF5's filter computes it (H5checksum.c).
std::uint32_t fletcher32(std::span<const unsigned char> bytes);

/// Whether the last four of a chunk's stored bytes are Fletcher's checksum of the others. A hole in
/// the file is all zero, including its checksum, and counts as damaged.
bool has_fletcher32(std::span<const unsigned char> chunk);
/// That checksum; 0 for a chunk that has none.
std::uint32_t stored_sum(std::span<const unsigned char> chunk);

/// Sorts the bytes of `count` values of `width` bytes by their position in a value: the first bytes
/// of all values, then the second bytes, each `plane` bytes after those before. `plane` is at least
/// `count`; the bytes between stay as they are. The two places do not overlap.
void shuffle_bytes(const char* values, std::size_t count, std::size_t width, char* out,
                   std::size_t plane);
/// The inverse.
void unshuffle_bytes(const char* shuffled, std::size_t plane, std::size_t count, std::size_t width,
                     char* values);

/// Deflates shuffled bytes and adds their checksum.
StoredChunk pack_shuffled(std::span<const char> shuffled);
/// The inverse: `size` shuffled bytes. Empty unless the checksum is right and the bytes inflate to
/// that size.
std::optional<std::vector<char>> unpack_shuffled(std::span<const unsigned char> stored,
                                                 std::size_t size);

}  // namespace sweep
