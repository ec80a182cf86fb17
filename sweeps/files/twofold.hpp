#pragma once
// Bytes that survive flipped bits: pieces with digests, twice, one copy after the other.
#include <optional>
#include <string>
#include <string_view>

namespace sweep {

/// A piece is a line, which begins with the mark and says where the piece begins, of how many
/// bytes, with a digest of the rest, and 1024 bytes, zeros after the last. For example, "bytes":
///
///   6b 76 73 77 65 65 70 20 73 70 61 72 65 20 63 6f 70 79 2c 20   "kvsweep spare copy, "
///   70 69 65 63 65 20 61 74 20 30 30 30 30 30 30 30 30 20         "piece at 00000000 "
///   30 30 30 30 30 30 30 35 20 39 34 64 64 34 34 36 35 62 32      "00000005 94dd4465b2"
///   34 63 64 39 31 32 0a | 62 79 74 65 73 | 00 ...                "4cd912\n", "bytes", 1019 zeros
///
/// and all pieces once more.
inline constexpr std::string_view kPieceMark = "kvsweep spare copy, piece at ";
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
