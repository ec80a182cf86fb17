#include "sweeps/files/twofold.hpp"

#include <charconv>
#include <vector>

#include "sweeps/files/sha256.hpp"
#include "sweeps/text/text.hpp"

namespace sweep {

namespace {

constexpr std::size_t kLead = 64, kBytes = kPieceBytes - kLead, kDigits = 8, kDigestDigits = 16;
constexpr std::size_t kAt = kPieceMark.size(), kSize = kAt + kDigits + 1,
                      kDigest = kSize + kDigits + 1;
static_assert(kDigest + kDigestDigits + 1 == kLead);

std::string hex(std::size_t number) { return formatted("%08x", static_cast<unsigned>(number)); }

std::size_t number_at(std::string_view piece, std::size_t at) {
  std::size_t number = 0;
  std::from_chars(piece.data() + at, piece.data() + at + kDigits, number, 16);
  return number;
}

std::string digest_of(std::string_view piece) {
  Sha256 sha;
  sha.update(piece.substr(0, kDigest));
  sha.update(piece.substr(kLead));
  return sha.hex().substr(0, kDigestDigits);
}

bool is_whole(std::string_view piece) {
  return piece.starts_with(kPieceMark) && piece.substr(kDigest, kDigestDigits) == digest_of(piece);
}

std::size_t pieces_of(std::size_t bytes) { return (bytes + kBytes - 1) / kBytes; }

/// Tries the bytes of either copy where they differ.
std::optional<std::string> mended(std::string_view one, std::string_view other) {
  constexpr std::size_t kMost = 12;  // 4096 digests
  std::vector<std::size_t> differ;
  for (std::size_t i = 0; i < one.size(); ++i)
    if (one[i] != other[i]) differ.push_back(i);
  if (differ.size() > kMost) return std::nullopt;
  for (std::size_t choice = 0; choice < std::size_t{1} << differ.size(); ++choice) {
    std::string piece(one);
    for (std::size_t i = 0; i < differ.size(); ++i)
      if ((choice >> i & 1) != 0) piece[differ[i]] = other[differ[i]];
    if (is_whole(piece)) return piece;
  }
  return std::nullopt;
}

}  // namespace

std::string twofold(std::string_view bytes) {
  std::string copy;
  for (std::size_t at = 0; at < bytes.size(); at += kBytes) {
    std::string piece = std::string(kPieceMark) + hex(at) + ' ' + hex(bytes.size()) + ' ' +
                        std::string(kDigestDigits, '0') + '\n';
    piece += bytes.substr(at, kBytes);
    piece.resize(kPieceBytes);
    copy += piece.replace(kDigest, kDigestDigits, digest_of(piece));
  }
  return copy + copy;
}

std::size_t twofold_bytes(std::string_view end) {
  for (; end.size() >= kPieceBytes; end.remove_suffix(kPieceBytes)) {
    const std::string_view last = end.substr(end.size() - kPieceBytes);
    if (is_whole(last)) return 2 * pieces_of(number_at(last, kSize)) * kPieceBytes;
  }
  return 0;
}

std::optional<std::string> untwofold(std::string_view file) {
  const std::size_t size = twofold_bytes(file), half = size / 2;
  if (size == 0 || size > file.size()) return std::nullopt;
  const std::string_view both = file.substr(file.size() - size);
  std::string bytes;
  std::size_t wanted = 0;
  for (std::size_t at = 0; at < half; at += kPieceBytes) {
    const auto piece = mended(both.substr(at, kPieceBytes), both.substr(half + at, kPieceBytes));
    if (!piece || number_at(*piece, kAt) != bytes.size()) return std::nullopt;
    wanted = number_at(*piece, kSize);
    bytes += piece->substr(kLead);
  }
  bytes.resize(wanted);
  return bytes;
}

}  // namespace sweep
