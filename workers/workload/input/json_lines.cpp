#include "workers/workload/input/json_lines.hpp"

#include <zlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <new>

#include "sweeps/text/input_text.hpp"
#include "workers/engine/base/errors.hpp"

namespace workload {
namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr std::string_view kZstdMagic{"\x28\xB5\x2F\xFD"};
constexpr std::string_view kParquetMagic{"PAR1"};
constexpr std::string_view kXzMagic{
    "\xFD"
    "7zXZ"};

void refuse_binary_kinds(const std::string& head, const InputPlace& place) {
  for (const auto& [magic, kind] :
       {std::pair(kZstdMagic, "zstd"), {kParquetMagic, "parquet"}, {kXzMagic, "xz"}})
    if (head.starts_with(magic))
      refuse(place, std::string("the file is ") + kind +
                        "; allowed: text, plain or .gz (python3 -m kvsweep.traces reads recordings "
                        "in many formats)");
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

}  // namespace

void refuse(const InputPlace& place, const std::string& problem) {
  const std::string line = place.line > 0 ? ":" + std::to_string(place.line) : "";
  throw engine::InputError(place.file + line + ": " + problem);
}

void LineReader::Close::operator()(gzFile_s* file) const { gzclose(file); }

LineReader::LineReader(std::string path) : place_{std::move(path), 0} {
  std::ifstream file = open_for_reading(place_);
  std::string head(kXzMagic.size(), '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  if (head.empty()) refuse(place_, "is empty");
  refuse_binary_kinds(head, place_);
  file_.reset(gzopen(place_.file.c_str(), "rb"));
  if (!file_ && errno == ENOMEM) throw std::bad_alloc();
  if (!file_) refuse(place_, "cannot be opened");
}

void LineReader::refuse_next(const std::string& problem) const {
  refuse({place_.file, place_.line + 1}, problem);
}

void LineReader::refill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t kept = buffer_.size();
  buffer_.resize(kept + kChunkBytes);
  const int got = gzread(file_.get(), buffer_.data() + kept, kChunkBytes);
  int problem = Z_OK;
  gzerror(file_.get(), &problem);
  if (problem == Z_MEM_ERROR) throw std::bad_alloc();
  if (problem == Z_ERRNO) refuse_next("reading failed");
  if (got < 0) refuse_next("the .gz data is damaged");
  if (got == 0 && problem == Z_BUF_ERROR)
    refuse_next("the .gz data ends too early: the file is truncated");
  const auto packed = static_cast<std::uint64_t>(gzoffset(file_.get()));
  if (static_cast<std::uint64_t>(gztell(file_.get())) > kFreeBytes + kMostExpansion * packed)
    refuse_next("the .gz data expands too far; allowed: " + std::to_string(kMostExpansion) +
                " times its size, and " + sweep::size_text(kFreeBytes) + " beside");
  buffer_.resize(kept + static_cast<std::size_t>(got));
  at_end_ = got == 0;
}

std::optional<std::string_view> LineReader::next_raw() {
  std::size_t searched = 0;  // bytes from begin_ on without a line end
  for (;;) {
    const std::size_t end = buffer_.find('\n', begin_ + searched);
    if (std::min(end, buffer_.size()) - begin_ > kLongestLineBytes)
      refuse_next("the line is longer than the " + sweep::size_text(kLongestLineBytes) +
                  " allowed");
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
    std::optional<std::string_view> line = next_raw();
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (line && place_.line == 1 && line->starts_with(kByteOrderMark))
      line->remove_prefix(kByteOrderMark.size());
    if (!line || !blank(*line)) return line;
  }
}

}  // namespace workload
