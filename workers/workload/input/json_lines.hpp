#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct gzFile_s;  // zlib.h

namespace workload {

/// Position of a value in the user's input, for error messages: "file:line: ".
struct InputPlace {
  std::string file;
  int line;  // from 1; 0: the file as a whole
};

/// Throws engine::InputError with the place in front of `problem`.
[[noreturn]] void refuse(const InputPlace& place, const std::string& problem);

/// Longest line of an input file: room for 8 million tokens of text.
inline constexpr std::size_t kLongestLineBytes = std::size_t{32} << 20;

/// A .gz file may expand to kMostExpansion bytes per byte of its own, plus kFreeBytes: text
/// compresses 5 to 100 times, a file made to exhaust memory 1000 times.
inline constexpr std::uint64_t kMostExpansion = 400;
inline constexpr std::uint64_t kFreeBytes = std::uint64_t{64} << 20;

/// Reads a text file line by line, plain or .gz, as its first bytes tell. Holds one line at a
/// time, so files may be larger than memory. Throws engine::InputError for a file that is missing,
/// empty, of a known binary format or beyond the limits above, and for damaged or truncated
/// compressed data.
class LineReader {
 public:
  explicit LineReader(std::string path);
  ~LineReader() = default;
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// The next line that is not blank, without its line end and a byte order mark. Valid until the
  /// next call; empty optional at the end of the file.
  std::optional<std::string_view> next();
  /// Place of the line that next() returned last.
  const InputPlace& place() const { return place_; }

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };

  std::optional<std::string_view> next_raw();
  void refill();
  [[noreturn]] void refuse_next(const std::string& problem) const;

  InputPlace place_;
  std::unique_ptr<gzFile_s, Close> file_;  // zlib's, which reads plain files as well
  std::string buffer_;                     // bytes read and not yet returned, from begin_ on
  std::size_t begin_ = 0;                  // start of the next line in buffer_
  bool at_end_ = false;                    // file_ is exhausted
};

}  // namespace workload
