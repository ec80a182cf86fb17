#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>
#include <string_view>

#include "sweeps/hdf5/bytes.hpp"

namespace sweep {

namespace {

constexpr std::size_t kChecksum = 4, kSuperblock = 48;
constexpr std::string_view kHeader = "OHDR", kContinuation = "OCHK";
constexpr unsigned kVersion = 2;
// Upper bound on the length of a header here.
constexpr std::size_t kLongest = std::size_t{1} << 20;

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

/// Jenkins' lookup3 ("hashlittle", 2006) with initial value 0, HDF5's checksum of its metadata.
std::uint32_t lookup3(FileBytes bytes) {
  constexpr std::size_t kRound = 12;
  const std::uint32_t first = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size());
  Lanes lanes{first, first, first};
  static_assert(std::endian::native == std::endian::little);
  for (; bytes.size() > kRound; bytes = bytes.subspan(kRound)) {
    std::array<std::uint32_t, 3> words;
    std::memcpy(words.data(), bytes.data(), kRound);
    lanes = {lanes.a + words[0], lanes.b + words[1], lanes.c + words[2]};
    lanes.mix();
  }
  if (bytes.empty()) return lanes.c;
  lanes.a += static_cast<std::uint32_t>(number_at(bytes, 0, 4));
  lanes.b += static_cast<std::uint32_t>(number_at(bytes, 4, 4));
  lanes.c += static_cast<std::uint32_t>(number_at(bytes, 8, 4));
  lanes.finish();
  return lanes.c;
}

bool starts_with(FileBytes bytes, std::string_view mark) {
  return bytes.size() >= mark.size() && std::memcmp(bytes.data(), mark.data(), mark.size()) == 0;
}

/// The first chunk of an object header; empty if its fields are impossible.
struct FirstChunk {
  FileBytes all, messages;
  bool ordered = false;  // messages carry their creation order
};
FirstChunk first_chunk(FileBytes rest) {
  constexpr std::size_t kFlags = 5, kTimes = 16, kLimits = 4;
  const std::uint64_t flags = number_at(rest, kFlags, 1);
  std::size_t at = kFlags + 1;
  if ((flags & 0x20) != 0) at += kTimes;
  if ((flags & 0x10) != 0) at += kLimits;
  const std::size_t width = std::size_t{1} << (flags & 3);
  const std::uint64_t size = number_at(rest, at, width);
  at += width;
  if (size > kLongest || at + size + kChecksum > rest.size()) return {};
  return {rest.first(at + size + kChecksum), rest.subspan(at, size), (flags & 0x04) != 0};
}

bool is_whole_header(FileBytes rest) {
  return starts_with(rest, kHeader) && number_at(rest, kHeader.size(), 1) == kVersion &&
         has_lookup3(first_chunk(rest).all);
}

/// Walks the messages of a header. `block(bytes)` decides for each continuation block whether it is
/// read; each block is visited once.
template <class Block, class Use>
void walk(FileBytes file, const FirstChunk& header, const Block& block, const Use& use) {
  constexpr std::uint64_t kContinues = 0x10;
  const std::size_t lead = header.ordered ? 6 : 4;
  std::set<std::uint64_t> seen;
  std::vector<FileBytes> left = {header.messages};
  while (!left.empty()) {
    const FileBytes messages = left.back();
    left.pop_back();
    for (std::size_t at = 0; at + lead <= messages.size();) {
      const std::uint64_t type = number_at(messages, at, 1);
      const std::size_t size =
          std::min<std::size_t>(number_at(messages, at + 1, 2), messages.size() - at - lead);
      const FileBytes data = messages.subspan(at + lead, size);
      at += lead + size;
      use(type, data);
      if (type != kContinues || size < 16) continue;
      const std::uint64_t start = number_at(data, 0, 8), length = number_at(data, 8, 8);
      const bool fits = length >= kContinuation.size() + kChecksum && length <= kLongest &&
                        start < file.size() && length <= file.size() - start;
      if (!fits || !seen.insert(start).second) continue;
      const FileBytes found = file.subspan(start, length);
      if (!block(found)) continue;
      left.push_back(
          found.subspan(kContinuation.size(), length - kContinuation.size() - kChecksum));
    }
  }
}

/// Repairs damaged parts until its budget of bytes to checksum is used up.
class HeaderRepair {
 public:
  explicit HeaderRepair(FileBytes file) : file_(file) {}

  int count() const { return count_; }

  /// Flips the bit of `bytes` that makes `whole` true. One call of `whole` reads `length` bytes.
  /// False if no single bit does.
  template <class Whole>
  bool flip_wrong_bit(FileBytes bytes, std::size_t length, const Whole& whole) {
    for (unsigned char& byte : bytes) {
      if (budget_ < 8 * length) return false;
      budget_ -= 8 * length;
      for (int bit = 0; bit < 8; ++bit) {
        byte = static_cast<unsigned char>(byte ^ 1 << bit);
        if (whole()) {
          ++count_;
          return true;
        }
        byte = static_cast<unsigned char>(byte ^ 1 << bit);
      }
    }
    return false;
  }

  void visit_header(std::size_t at) {
    constexpr std::size_t kLeast = 32;  // bytes to try if the length itself is damaged
    const FileBytes rest = file_.subspan(at);
    const auto whole = [&] { return is_whole_header(rest); };
    const std::size_t length = std::max(kLeast, first_chunk(rest).all.size());
    const bool readable =
        whole() || flip_wrong_bit(rest.first(std::min(length, rest.size())), length, whole);
    if (!readable) return;
    const auto block = [this](FileBytes bytes) {
      const auto sound = [bytes] {
        return starts_with(bytes, kContinuation) && has_lookup3(bytes);
      };
      return sound() || flip_wrong_bit(bytes, bytes.size(), sound);
    };
    walk(file_, first_chunk(rest), block, [](std::uint64_t, FileBytes) {});
  }

 private:
  FileBytes file_;
  int count_ = 0;
  std::uint64_t budget_ = std::uint64_t{1} << 34;  // bytes: about 10 s
};

/// Whether an object header may begin at `at`, allowing for one flipped bit.
bool may_begin(FileBytes file, std::size_t at) {
  std::uint32_t found = 0, wanted = 0;
  std::memcpy(&found, file.data() + at, sizeof found);
  std::memcpy(&wanted, kHeader.data(), sizeof wanted);
  const int wrong = std::popcount(found ^ wanted);
  return wrong <= 1 && wrong + std::popcount(file[at + kHeader.size()] ^ kVersion) <= 1;
}

/// Writes the superblock (version 2) anew. Only the size of the file differs between archives: the
/// root's header follows the superblock, and there is no extension.
void rebuild_superblock(FileBytes file) {
  constexpr unsigned char kSignature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n', 2, 8, 8, 0};
  const std::array<std::uint64_t, 4> addresses = {0, ~std::uint64_t{0}, file.size(), kSuperblock};
  std::memcpy(file.data(), kSignature, sizeof kSignature);
  std::memcpy(file.data() + sizeof kSignature, addresses.data(), sizeof addresses);
  const std::uint32_t checksum = lookup3(file.first(kSuperblock - kChecksum));
  std::memcpy(file.data() + kSuperblock - kChecksum, &checksum, kChecksum);
}

}  // namespace

std::uint64_t number_at(FileBytes bytes, std::size_t at, std::size_t width) {
  std::uint64_t number = 0;
  for (std::size_t i = width; i-- > 0;)
    number = number << 8 | (at + i < bytes.size() ? bytes[at + i] : 0);
  return number;
}

bool has_lookup3(FileBytes part) {
  if (part.size() <= kChecksum) return false;
  const std::size_t end = part.size() - kChecksum;
  return number_at(part, end, kChecksum) == lookup3(part.first(end));
}

void for_each_message(FileBytes file, std::uint64_t header,
                      const std::function<void(std::uint64_t type, FileBytes data)>& use) {
  const FileBytes rest = file.subspan(std::min<std::uint64_t>(header, file.size()));
  const auto block = [](FileBytes bytes) {
    return starts_with(bytes, kContinuation) && has_lookup3(bytes);
  };
  if (!is_whole_header(rest))
    throw H5Error("the object header at byte " + std::to_string(header) + " is not whole");
  walk(file, first_chunk(rest), block, use);
}

int repair_headers(FileBytes file) {
  if (file.size() < kSuperblock) return 0;
  HeaderRepair repair(file);
  const bool rebuilt = !has_lookup3(file.first(kSuperblock));
  if (rebuilt) rebuild_superblock(file);
  for (std::size_t at = 0; at + kHeader.size() < file.size(); ++at)
    if (may_begin(file, at)) repair.visit_header(at);
  return repair.count() + (rebuilt ? 1 : 0);
}

}  // namespace sweep
