#include <zlib.h>

#include <array>
#include <new>

#include "workers/workload/input/byte_source.hpp"

namespace workload {
namespace {

class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(std::ifstream file) : file_(std::move(file)) {
    constexpr int kGzipWindow = 15 + 16;  // the largest window; 16: with a gzip header
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  std::size_t read(std::span<char> out) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    while (stream_.avail_out > 0 && !finished_ && damage_ == nullptr) inflate_some();
    check_expansion(".gz", bytes_in_, bytes_out_ += out.size() - stream_.avail_out);
    const std::size_t decoded = out.size() - stream_.avail_out;
    if (decoded == 0 && damage_ != nullptr) throw DamagedInput(damage_);
    return decoded;
  }

 private:
  void inflate_some() {
    if (stream_.avail_in == 0) refill();
    if (stream_.avail_in == 0) {
      // Members follow each other; the file may end behind any of them.
      finished_ = member_ended_;
      if (!finished_) damage_ = "the .gz data ends too early: the file is truncated";
      return;
    }
    if (member_ended_ && inflateReset(&stream_) != Z_OK) throw std::bad_alloc();
    const int result = inflate(&stream_, Z_NO_FLUSH);
    member_ended_ = result == Z_STREAM_END;
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_STREAM_END) damage_ = "the .gz data is damaged";
  }

  void refill() {
    file_.read(input_.data(), static_cast<std::streamsize>(input_.size()));
    if (file_.bad()) throw DamagedInput("reading failed");
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(file_.gcount());
    bytes_in_ += stream_.avail_in;
  }

  std::ifstream file_;
  z_stream stream_{};
  std::array<char, 64 * 1024> input_{};
  std::uint64_t bytes_in_ = 0, bytes_out_ = 0;
  bool member_ended_ = false;
  bool finished_ = false;
  const char* damage_ = nullptr;  // defect of the data behind the bytes returned so far
};

}  // namespace

std::unique_ptr<ByteSource> gzip_source(std::ifstream file) {
  return std::make_unique<GzipSource>(std::move(file));
}

}  // namespace workload
