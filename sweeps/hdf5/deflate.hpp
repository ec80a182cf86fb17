#pragma once
// Streams in zlib's format, at the lowest level of compression, by ISA-L where it is installed,
// else by zlib: deflate_*.cpp. Each reads what the other wrote.
#include <cstddef>
#include <span>

namespace sweep {

/// The most bytes that `size` bytes can take.
std::size_t largest_deflated(std::size_t size);

/// Returns the number of bytes written to `out`, 0 if they do not fit.
std::size_t deflate_to(std::span<unsigned char> out, std::span<const char> bytes);

/// False unless the bytes are a stream of exactly as many bytes as `out` has. Need not compare the
/// stream's checksum: chunks have their own.
bool inflate_to(std::span<char> out, std::span<const unsigned char> bytes);

}  // namespace sweep
