#include "workers/server/http/sse.hpp"

namespace server {

void SseParser::feed(std::string_view bytes, const OnData& on_data) {
  while (!bytes.empty()) {
    if (after_cr_ && bytes.front() == '\n') bytes.remove_prefix(1);
    after_cr_ = false;
    const std::size_t end = bytes.find_first_of("\r\n");
    if (end == std::string_view::npos) {
      line_ += bytes;
      break;
    }
    after_cr_ = bytes[end] == '\r';
    if (line_.empty()) {
      end_line(bytes.substr(0, end), on_data);
    } else {
      line_ += bytes.substr(0, end);
      end_line(line_, on_data);
      line_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
  if (line_.size() + data_.size() > kMostEventBytes)
    throw BadAnswer("an event of its stream is longer than 16 MiB");
}

void SseParser::end_line(std::string_view line, const OnData& on_data) {
  constexpr std::string_view kData = "data";
  if (line.empty()) {
    if (has_data_) on_data(data_);
    data_.clear();
    has_data_ = false;
    return;
  }
  const std::size_t colon = std::min(line.find(':'), line.size());
  if (line.substr(0, colon) != kData) return;
  line.remove_prefix(std::min(colon + 1, line.size()));
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (has_data_) data_ += '\n';
  data_ += line;
  has_data_ = true;
}

}  // namespace server
