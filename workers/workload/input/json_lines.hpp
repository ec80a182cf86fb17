#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace workload {

/// Position of a value in the user's input, for error messages: "file:line: ".
struct InputPlace {
  std::string file;
  int line;  // from 1; 0: the file as a whole
};

class ByteSource;

/// Throws engine::InputError with the place in front of `problem`.
[[noreturn]] void refuse(const InputPlace& place, const std::string& problem);

/// Longest line of an input file: room for 8 million tokens of text.
inline constexpr std::size_t kLongestLineBytes = std::size_t{32} << 20;

/// An .xz or .gz file may expand to kMostXzExpansion bytes per byte of its own, plus kFreeXzBytes:
/// text compresses 5 to 100 times, a file made to exhaust memory 5000 times.
inline constexpr std::uint64_t kMostXzExpansion = 400;
inline constexpr std::uint64_t kFreeXzBytes = std::uint64_t{64} << 20;
/// Memory of the .xz decoder; `xz -9` asks for 65 MiB.
inline constexpr std::uint64_t kMostXzMemory = std::uint64_t{256} << 20;

/// Reads a text file line by line, plain, .xz or .gz, as its first bytes tell. Holds one line at a
/// time, so files may be larger than memory. Throws engine::InputError for a file that is missing,
/// empty, of a known binary format or beyond the limits above, and for damaged or truncated
/// compressed data.
class LineReader {
 public:
  explicit LineReader(std::string path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// The next line that is not blank, without its line end. Valid until the next call; empty
  /// optional at the end of the file.
  std::optional<std::string_view> next();
  /// Place of the line that next() returned last.
  const InputPlace& place() const { return place_; }

 private:
  class PlainSource;
  class XzSource;

  std::optional<std::string_view> next_raw();
  void refill();

  InputPlace place_;
  std::unique_ptr<ByteSource> source_;
  std::string buffer_;     // bytes read and not yet returned, from begin_ on
  std::size_t begin_ = 0;  // start of the next line in buffer_
  bool at_end_ = false;    // source_ is exhausted
};

/// Keeps the key order of objects: a recorded tool call must be written back unchanged.
using Json = nlohmann::ordered_json;

/// Parses one line as sweep::strict_json does. Throws engine::InputError with file, line and, for
/// text that is not JSON, column (in bytes, from 1).
Json parse_json(std::string_view text, const InputPlace& place);

/// A value and its path ("messages[3].content"), for errors about a wrong type.
class JsonField {
 public:
  JsonField(const Json& value, std::string path, const InputPlace& place)
      : value_(&value), path_(std::move(path)), place_(&place) {}

  /// Member of this object; empty optional when it is absent or null. Refuses a value that is not
  /// an object.
  std::optional<JsonField> find(const char* key) const;
  /// Element of this array.
  JsonField at(std::size_t i) const;
  /// Number of elements. Refuses a value that is not an array, naming `allowed`.
  std::size_t array_size(const char* allowed = "a list") const;
  const std::string& text(const char* allowed = "a string") const;
  bool boolean() const;
  /// A number in [low, high].
  double number(double low, double high) const;

  const Json& value() const { return *value_; }
  const std::string& path() const { return path_; }
  /// "messages[3].content is a number (42); allowed: ..."
  [[noreturn]] void refuse_type(const std::string& allowed) const;
  [[noreturn]] void refuse_value(const std::string& problem) const;

 private:
  const Json* value_;
  std::string path_;  // empty: the row itself
  const InputPlace* place_;
};

}  // namespace workload
