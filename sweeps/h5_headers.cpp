#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "sweeps/h5_digest.hpp"

namespace sweep {

namespace {

// The parts of a file that end in a checksum are laid out as in "HDF5 File Format Specification
// Version 3.0": the superblock (II.A), object headers of version 2 (IV.A.1.b) and the blocks that
// go on with them.
constexpr std::size_t kChecksum = 4;
constexpr std::string_view kHeader = "OHDR", kContinuation = "OCHK";
constexpr unsigned kVersion = 2;
// Longer than any header here; each further byte costs eight checksums of all of them.
constexpr std::size_t kLongest = std::size_t{1} << 14;

/// Little-endian; 0 beyond the end.
std::uint64_t number_at(FileBytes bytes, std::size_t at, std::size_t width) {
  std::uint64_t number = 0;
  for (std::size_t i = width; i-- > 0;)
    number = number << 8 | (at + i < bytes.size() ? bytes[at + i] : 0);
  return number;
}

struct Lanes {
  std::uint32_t a, b, c;
  void mix() {
    const auto step = [](std::uint32_t& x, std::uint32_t& y, std::uint32_t& z, int turn) {
      x = (x - z) ^ std::rotl(z, turn);
      z += y;
    };
    step(a, b, c, 4);
    step(b, c, a, 6);
    step(c, a, b, 8);
    step(a, b, c, 16);
    step(b, c, a, 19);
    step(c, a, b, 4);
  }
  void finish() {
    const auto step = [](std::uint32_t& x, std::uint32_t y, int turn) {
      x = (x ^ y) - std::rotl(y, turn);
    };
    step(c, b, 14);
    step(a, c, 11);
    step(b, a, 25);
    step(c, b, 16);
    step(a, c, 4);
    step(b, a, 14);
    step(c, b, 24);
  }
};

/// Jenkins' lookup3 ("hashlittle", 2006) from 0, which HDF5 stores behind its metadata.
std::uint32_t lookup3(FileBytes bytes) {
  constexpr std::size_t kRound = 12;
  const std::uint32_t first = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size());
  Lanes lanes{first, first, first};
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(kRound, bytes.size()))) {
    lanes.a += static_cast<std::uint32_t>(number_at(bytes, 0, 4));
    lanes.b += static_cast<std::uint32_t>(number_at(bytes, 4, 4));
    lanes.c += static_cast<std::uint32_t>(number_at(bytes, 8, 4));
    if (bytes.size() > kRound) {
      lanes.mix();
    } else {
      lanes.finish();
    }
  }
  return lanes.c;
}

bool is_whole(FileBytes part) {
  if (part.size() <= kChecksum) return false;
  const std::size_t end = part.size() - kChecksum;
  return number_at(part, end, kChecksum) == lookup3(part.first(end));
}

/// Flips back the bit of these bytes that makes `whole` true. False where none does.
template <class Whole>
bool mend_bit(FileBytes bytes, const Whole& whole) {
  for (unsigned char& byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      byte = static_cast<unsigned char>(byte ^ 1 << bit);
      if (whole()) return true;
      byte = static_cast<unsigned char>(byte ^ 1 << bit);
    }
  }
  return false;
}

/// Where the messages of an object header begin, and its length; 0 where it says what none does.
struct HeaderShape {
  std::size_t messages = 0, length = 0;
};
HeaderShape shape_of(FileBytes header) {
  constexpr std::size_t kFlags = 5, kTimes = 16, kLimits = 4;
  const std::uint64_t flags = number_at(header, kFlags, 1);
  std::size_t at = kFlags + 1;
  if ((flags & 0x20) != 0) at += kTimes;
  if ((flags & 0x10) != 0) at += kLimits;
  const std::size_t width = std::size_t{1} << (flags & 3);
  const std::uint64_t messages = number_at(header, at, width);
  at += width;
  if (messages > kLongest || at + messages + kChecksum > header.size()) return {};
  return {at, at + messages + kChecksum};
}

/// Calls `use` with every block that goes on with a header, as its messages say. `ordered`: they
/// have an order of creation.
template <class Use>
void for_each_continuation(FileBytes file, FileBytes messages, bool ordered, const Use& use) {
  constexpr std::uint64_t kType = 0x10;
  const std::size_t lead = ordered ? 6 : 4;
  for (std::size_t at = 0; at + lead <= messages.size();) {
    const std::uint64_t size = number_at(messages, at + 1, 2);
    if (number_at(messages, at, 1) == kType) {
      const std::uint64_t start = number_at(messages, at + lead, 8);
      const std::uint64_t length = number_at(messages, at + lead + 8, 8);
      if (length > kChecksum && length <= kLongest && start < file.size() &&
          length <= file.size() - start)
        use(file.subspan(start, length));
    }
    at += lead + size;
  }
}

/// Mends the blocks that go on with a whole header, and those that go on with them.
int mend_continuations(FileBytes file, FileBytes messages, bool ordered, int depth) {
  constexpr int kDeepest = 32;
  if (depth > kDeepest) return 0;
  int mended = 0;
  for_each_continuation(file, messages, ordered, [&](FileBytes block) {
    const auto whole = [&] { return is_whole(block); };
    if (!whole()) {
      if (!mend_bit(block, whole)) return;
      ++mended;
    }
    const std::size_t inner = block.size() - kContinuation.size() - kChecksum;
    mended +=
        mend_continuations(file, block.subspan(kContinuation.size(), inner), ordered, depth + 1);
  });
  return mended;
}

int mend_header(FileBytes file, std::size_t at) {
  constexpr std::size_t kLeast = 32;  // where its length is what is damaged
  const FileBytes rest = file.subspan(at, std::min(kLongest, file.size() - at));
  const auto whole = [&] {
    const bool named = std::memcmp(rest.data(), kHeader.data(), kHeader.size()) == 0;
    const std::size_t length = named ? shape_of(rest).length : 0;
    return length > 0 && is_whole(rest.first(length));
  };
  int mended = 0;
  if (!whole()) {
    const std::size_t length = std::max(kLeast, shape_of(rest).length);
    if (!mend_bit(rest.first(std::min(length, rest.size())), whole)) return 0;
    ++mended;
  }
  const HeaderShape shape = shape_of(rest);
  const FileBytes messages =
      rest.subspan(shape.messages, shape.length - shape.messages - kChecksum);
  const bool ordered = (rest[5] & 0x04) != 0;
  return mended + mend_continuations(file, messages, ordered, 0);
}

/// Whether an object header may begin there, but for one bit.
bool may_begin(FileBytes file, std::size_t at) {
  std::uint32_t found = 0, wanted = 0;
  std::memcpy(&found, file.data() + at, sizeof found);
  std::memcpy(&wanted, kHeader.data(), sizeof wanted);
  const int bits = std::popcount(found ^ wanted);
  return bits <= 1 && bits + std::popcount(file[at + kHeader.size()] ^ kVersion) <= 1;
}

}  // namespace

int mend_headers(FileBytes file) {
  constexpr std::size_t kSuperblock = 48;
  if (file.size() < kSuperblock) return 0;
  const FileBytes superblock = file.first(kSuperblock);
  const auto whole = [&] { return is_whole(superblock); };
  int mended = !whole() && mend_bit(superblock, whole) ? 1 : 0;
  for (std::size_t at = 0; at + kHeader.size() + 1 < file.size(); ++at)
    if (may_begin(file, at)) mended += mend_header(file, at);
  return mended;
}

}  // namespace sweep
