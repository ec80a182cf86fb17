#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace workload {

/// Where a value of the user's input stands, for error messages: "file:line: ".
struct InputPlace {
  std::string file;
  int line;  // from 1; 0: the file as a whole
};

/// Throws engine::InputError with the place in front of `problem`.
[[noreturn]] void refuse(const InputPlace& place, const std::string& problem);

/// Longest line of an input file: 8 million tokens of text and more.
inline constexpr std::size_t kLongestLineBytes = std::size_t{32} << 20;

/// An .xz may expand to this many bytes for each of its own, and to kFreeXzBytes beside: text packs
/// 5 to 100 times, a file that is made to fill memory 5000 times.
inline constexpr std::uint64_t kMostXzExpansion = 400;
inline constexpr std::uint64_t kFreeXzBytes = std::uint64_t{64} << 20;
/// Memory of the .xz decoder; `xz -9` asks for 65 MiB.
inline constexpr std::uint64_t kMostXzMemory = std::uint64_t{256} << 20;

/// Reads a text file line by line, plain or .xz; which of the two is read from its first bytes.
/// Holds one line at a time, so files may be larger than memory. Throws engine::InputError for a
/// file that is missing, empty, of a known binary kind, a damaged or truncated .xz, and for what is
/// beyond the limits above.
class LineReader {
 public:
  explicit LineReader(std::string path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// The next line that is not blank, without its end, valid until the next call; nothing at the
  /// end of the file.
  std::optional<std::string_view> next();
  /// Place of the line that next() returned last.
  const InputPlace& place() const { return place_; }

 private:
  class ByteSource;
  class PlainSource;
  class XzSource;

  std::optional<std::string_view> next_raw();
  void refill();

  InputPlace place_;
  std::unique_ptr<ByteSource> source_;
  std::string buffer_;     // bytes read and not yet returned, from begin_ on
  std::size_t begin_ = 0;  // start of the next line in buffer_
  bool at_end_ = false;    // source_ has nothing more
};

/// Objects keep the order of their keys: a recorded tool call must be written back as it was.
using Json = nlohmann::ordered_json;

/// Parses one line, as sweep::strict_json does. Throws engine::InputError with file, line and,
/// where the text is no JSON, column (in bytes, from 1).
Json parse_json(std::string_view text, const InputPlace& place);

/// A value and the words that lead to it ("messages[3].content"), so that a wrong type names its
/// place.
class JsonField {
 public:
  JsonField(const Json& value, std::string path, const InputPlace& place)
      : value_(&value), path_(std::move(path)), place_(&place) {}

  /// Member of this object; nothing when it is absent or null. A value that is no object is
  /// refused.
  std::optional<JsonField> find(const char* key) const;
  /// Element of this array.
  JsonField at(std::size_t i) const;
  /// Number of elements; a value that is no array is refused, naming `allowed`.
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
