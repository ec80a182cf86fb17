#pragma once
// Bytes that survive flipped bits: pieces with digests, twice, one copy after the other.
#include <optional>
#include <string>
#include <string_view>

namespace sweep {

/// A piece is a line that says where it begins, of how many bytes, with a digest, and 1024 bytes,
/// zeros after the last. For example, of 5 bytes:
///   "kvsweep spare copy, piece at 00000000 00000005 b9c1a2f3de83a1f0\n" "bytes" and 1019 zeros.
std::string twofold(std::string_view bytes);

/// The bytes at the end of `file`. Of a piece that is damaged in both copies, where they differ the
/// bytes of either are tried. Empty if there are none, or a piece is lost.
std::optional<std::string> untwofold(std::string_view file);

/// How many bytes at the end of a file twofold() has made, from its last piece or from as many more
/// as are given; 0 if it made none.
std::size_t twofold_bytes(std::string_view end_of_file);

/// Bytes of a piece with its line.
inline constexpr std::size_t kPieceBytes = 64 + 1024;

}  // namespace sweep
