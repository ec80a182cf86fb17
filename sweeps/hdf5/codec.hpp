#pragma once
// Chunks of a dataset as HDF5 stores them: shuffled, deflated, with Fletcher's checksum. They are
// the chunks that the library's own filters write and read, without its cost.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sweep {

/// A stream in zlib's format, at the lowest level of compression, by ISA-L where it is installed,
/// else by zlib: deflate_*.cpp. Each reads what the other wrote. Empty if it fails.
std::string deflated(std::string_view bytes);
/// False unless the bytes are a stream of exactly as many bytes as `out` has. Need not compare the
/// stream's checksum: chunks have their own.
bool inflate_to(std::span<char> out, std::string_view bytes);

/// Whether the last four of a chunk's stored bytes are Fletcher's checksum of the others. A hole in
/// the file is all zero, including its checksum, and counts as damaged.
bool has_fletcher32(std::string_view chunk);
/// That checksum; 0 for a chunk that has none.
std::uint32_t stored_sum(std::string_view chunk);

/// Sorts the bytes of `count` values of `width` bytes by their position in a value: the first bytes
/// of all values, then the second bytes, each `plane` bytes after those before. `plane` is at least
/// `count`; the bytes between stay as they are. The two places do not overlap.
void shuffle_bytes(const char* values, std::size_t count, std::size_t width, char* out,
                   std::size_t plane);
/// The inverse.
void unshuffle_bytes(const char* shuffled, std::size_t plane, std::size_t count, std::size_t width,
                     char* values);

/// Deflates shuffled bytes and adds their checksum: a chunk as it is stored.
std::string pack_shuffled(std::string_view shuffled);
/// The inverse: `size` shuffled bytes. Empty unless the checksum is right and the bytes inflate to
/// that size.
std::optional<std::string> unpack_shuffled(std::string_view stored, std::size_t size);

}  // namespace sweep
