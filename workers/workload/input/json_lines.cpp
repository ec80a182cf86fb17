#include "workers/workload/input/json_lines.hpp"

#include <lzma.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>

#include "sweeps/files/input_text.hpp"
#include "sweeps/files/strict_json.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/input/byte_source.hpp"

namespace workload {
namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr std::string_view kXzMagic{
    "\xFD"
    "7zXZ\0",
    6};
constexpr std::string_view kGzipMagic{"\x1F\x8B"};
constexpr std::string_view kZstdMagic{"\x28\xB5\x2F\xFD"};
constexpr std::string_view kParquetMagic{"PAR1"};

void refuse_binary_kinds(const std::string& head, const InputPlace& place) {
  const std::string allowed = "; allowed: text, plain, .xz or .gz";
  if (head.starts_with(kZstdMagic)) refuse(place, "the file is zstd" + allowed);
  if (head.starts_with(kParquetMagic)) {
    refuse(place, "the file is parquet" + allowed +
                      " (analysis/python/swesmith_parquet_to_jsonl.py turns one into the other)");
  }
}

std::ifstream open_for_reading(const InputPlace& place) {
  std::error_code ignored;
  if (std::filesystem::is_directory(place.file, ignored))
    refuse(place, "is a folder; a file is needed");
  std::ifstream file(place.file, std::ios::binary);
  if (!file) refuse(place, "cannot be opened; does the file exist, and may it be read?");
  return file;
}

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::string describe(const Json& value) {
  constexpr std::size_t kLongestShown = 40;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_null()) return "null";
  std::string shown = value.dump(-1, ' ', true);
  if (shown.size() > kLongestShown) shown = shown.substr(0, kLongestShown) + "...";
  if (value.is_string()) return "a string (" + shown + ")";
  return (value.is_boolean() ? "a boolean (" : "a number (") + shown + ")";
}

}  // namespace

void refuse(const InputPlace& place, const std::string& problem) {
  const std::string line = place.line > 0 ? ":" + std::to_string(place.line) : "";
  throw engine::InputError(place.file + line + ": " + problem);
}

void check_expansion(const char* kind, std::uint64_t bytes_in, std::uint64_t bytes_out) {
  if (bytes_out <= kFreeXzBytes + kMostXzExpansion * bytes_in) return;
  throw DamagedInput(std::string("the ") + kind +
                     " data expands too far; allowed: " + std::to_string(kMostXzExpansion) +
                     " times its size, and " + sweep::size_text(kFreeXzBytes) + " beside");
}

class LineReader::PlainSource final : public ByteSource {
 public:
  explicit PlainSource(std::ifstream file) : file_(std::move(file)) {}

  std::size_t read(std::span<char> out) override {
    file_.read(out.data(), static_cast<std::streamsize>(out.size()));
    if (file_.bad()) throw DamagedInput("reading failed");
    return static_cast<std::size_t>(file_.gcount());
  }

 private:
  std::ifstream file_;
};

class LineReader::XzSource final : public ByteSource {
 public:
  explicit XzSource(std::ifstream file) : file_(std::move(file)) {
    if (lzma_stream_decoder(&stream_, kMostXzMemory, LZMA_CONCATENATED) != LZMA_OK)
      throw std::bad_alloc();
  }
  ~XzSource() override { lzma_end(&stream_); }

  std::size_t read(std::span<char> out) override {
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    while (stream_.avail_out > 0 && !finished_ && damage_ == nullptr) decode_some();
    check_expansion(".xz", stream_.total_in, stream_.total_out);
    const std::size_t decoded = out.size() - stream_.avail_out;
    if (decoded == 0 && damage_ != nullptr) throw DamagedInput(damage_);
    return decoded;
  }

 private:
  void decode_some() {
    if (stream_.avail_in == 0 && file_.good()) {
      file_.read(input_.data(), static_cast<std::streamsize>(input_.size()));
      if (file_.bad()) throw DamagedInput("reading failed");
      stream_.next_in = reinterpret_cast<const std::uint8_t*>(input_.data());
      stream_.avail_in = static_cast<std::size_t>(file_.gcount());
    }
    const lzma_ret result = lzma_code(&stream_, file_.good() ? LZMA_RUN : LZMA_FINISH);
    finished_ = result == LZMA_STREAM_END;
    if (result == LZMA_MEM_ERROR) throw std::bad_alloc();
    if (result == LZMA_OK || finished_) return;
    if (result == LZMA_MEMLIMIT_ERROR)
      throw DamagedInput("the .xz data needs more memory than the " +
                         sweep::size_text(kMostXzMemory) + " allowed to decode");
    damage_ = result == LZMA_BUF_ERROR ? "the .xz data ends too early: the file is truncated"
                                       : "the .xz data is damaged";
  }

  std::ifstream file_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  std::array<char, 64 * 1024> input_;
  bool finished_ = false;
  const char* damage_ = nullptr;  // defect of the data behind the bytes returned so far
};

LineReader::LineReader(std::string path) : place_{std::move(path), 0} {
  std::ifstream file = open_for_reading(place_);
  std::string head(kXzMagic.size(), '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  if (head.empty()) refuse(place_, "is empty");
  refuse_binary_kinds(head, place_);
  file.clear();
  file.seekg(0);
  if (head == kXzMagic) {
    source_ = std::make_unique<XzSource>(std::move(file));
  } else if (head.starts_with(kGzipMagic)) {
    source_ = gzip_source(std::move(file));
    if (!source_)
      refuse(place_,
             "the file is gzip, which this program was built without; allowed: text, "
             "plain or .xz");
  } else {
    source_ = std::make_unique<PlainSource>(std::move(file));
  }
}

LineReader::~LineReader() = default;

void LineReader::refill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t kept = buffer_.size();
  buffer_.resize(kept + kChunkBytes);
  std::size_t got = 0;
  try {
    got = source_->read(std::span(buffer_).subspan(kept));
  } catch (const DamagedInput& problem) {
    buffer_.resize(kept);
    refuse({place_.file, place_.line + 1}, problem.what());
  }
  buffer_.resize(kept + got);
  at_end_ = got == 0;
}

std::optional<std::string_view> LineReader::next_raw() {
  std::size_t searched = 0;  // bytes from begin_ on without a line end
  for (;;) {
    const std::size_t end = buffer_.find('\n', begin_ + searched);
    if (std::min(end, buffer_.size()) - begin_ > kLongestLineBytes)
      refuse({place_.file, place_.line + 1},
             "the line is longer than the " + sweep::size_text(kLongestLineBytes) + " allowed");
    if (end != std::string::npos || at_end_) {
      const std::string_view rest = std::string_view(buffer_).substr(begin_);
      if (end == std::string::npos && rest.empty()) return std::nullopt;
      const std::string_view line =
          rest.substr(0, end == std::string::npos ? rest.size() : end - begin_);
      begin_ += std::min(line.size() + 1, rest.size());
      ++place_.line;
      return line;
    }
    searched = buffer_.size() - begin_;
    refill();
  }
}

std::optional<std::string_view> LineReader::next() {
  for (;;) {
    const std::optional<std::string_view> line = next_raw();
    if (!line || !blank(*line)) return line;
  }
}

Json parse_json(std::string_view text, const InputPlace& place) {
  try {
    return sweep::strict_json<Json>(text);
  } catch (const sweep::JsonRefused& refused) {
    // The library's message begins with its own position, followed by the cause.
    const std::string_view what = refused.what();
    const std::size_t cause = refused.byte > 0 ? what.find(": ") : what.npos;
    const std::string column = refused.byte > 0 ? ":" + std::to_string(refused.byte) : "";
    throw engine::InputError(
        place.file + ":" + std::to_string(place.line) + column +
        ": not valid JSON: " + std::string(cause == what.npos ? what : what.substr(cause + 2)));
  }
}

std::optional<JsonField> JsonField::find(const char* key) const {
  if (!value_->is_object()) refuse_type("an object");
  const auto member = value_->find(key);
  if (member == value_->end() || member->is_null()) return std::nullopt;
  return JsonField(*member, path_.empty() ? key : path_ + "." + key, *place_);
}

JsonField JsonField::at(std::size_t i) const {
  return JsonField((*value_)[i], path_ + "[" + std::to_string(i) + "]", *place_);
}

std::size_t JsonField::array_size(const char* allowed) const {
  if (!value_->is_array()) refuse_type(allowed);
  return value_->size();
}

const std::string& JsonField::text(const char* allowed) const {
  if (!value_->is_string()) refuse_type(allowed);
  return value_->get_ref<const std::string&>();
}

bool JsonField::boolean() const {
  if (!value_->is_boolean()) refuse_type("true or false");
  return value_->get<bool>();
}

double JsonField::number(double low, double high) const {
  std::array<char, 80> allowed{};
  std::snprintf(allowed.data(), allowed.size(), "a number from %g to %g", low, high);
  if (!value_->is_number()) refuse_type(allowed.data());
  const double number = value_->get<double>();
  if (!(number >= low && number <= high)) refuse_type(allowed.data());
  return number;
}

void JsonField::refuse_type(const std::string& allowed) const {
  refuse_value("is " + describe(*value_) + "; allowed: " + allowed);
}

void JsonField::refuse_value(const std::string& problem) const {
  refuse(*place_, (path_.empty() ? "the line" : path_) + " " + problem);
}

}  // namespace workload
