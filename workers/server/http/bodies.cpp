#include "workers/server/http/bodies.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "workers/server/http/loop.hpp"

namespace server {
namespace {

constexpr std::string_view kMark = "\xef\xbb\xbf";

}  // namespace

std::string shown(std::string_view text, std::size_t most) {
  constexpr char kHex[] = "0123456789abcdef";
  std::size_t end = std::min(most, text.size());
  while (end < text.size() && end > 0 && (text[end] & 0xC0) == 0x80) --end;  // a whole character
  std::string result;
  for (const char c : text.substr(0, end)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      result += "\\n";
    else if (byte < 0x20 || byte == 0x7F)
      result += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    else
      result += c;
  }
  return end < text.size() ? result + "..." : result;
}

void SseParser::feed(std::string_view bytes, const OnData& on_data) {
  // A byte order mark before the first line is no part of it.
  for (; mark_ < kMark.size() && !bytes.empty(); bytes.remove_prefix(1)) {
    if (bytes.front() != kMark[mark_]) {
      line_ = kMark.substr(0, std::exchange(mark_, kMark.size()));
      break;
    }
    ++mark_;
  }
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
  if (line.empty()) {
    if (is_error_) throw BadAnswer("it reports an error: " + shown(data_));
    if (has_data_) on_data(data_);
    data_.clear();
    has_data_ = false;
    return;
  }
  const std::size_t colon = std::min(line.find(':'), line.size());
  const std::string_view field = line.substr(0, colon);
  line.remove_prefix(std::min(colon + 1, line.size()));
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (field == "event") is_error_ = line == "error";
  if (field != "data") return;
  if (has_data_) data_ += '\n';
  data_ += line;
  has_data_ = true;
}

MetricsPage::MetricsPage(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const std::size_t brace = line.find('{'), close = line.rfind('}');
    const bool labeled = brace != std::string_view::npos && close != std::string_view::npos;
    const std::size_t name_end = labeled ? brace : line.find(' ');
    if (name_end == std::string_view::npos || (labeled && close < brace)) continue;
    const std::string number(line.substr(labeled ? close + 1 : name_end));
    char* stop = nullptr;
    const double value = std::strtod(number.c_str(), &stop);
    if (stop == number.c_str()) continue;
    const std::string labels(labeled ? line.substr(brace + 1, close - brace - 1) : "");
    series_[std::string(line.substr(0, name_end))][labels] = value;
  }
}

double MetricsPage::sum(const std::string& name, std::string_view label) const {
  constexpr double kNoNumber = std::numeric_limits<double>::infinity();
  double sum = 0;
  bool found = false;
  if (const auto metric = series_.find(name); metric != series_.end()) {
    for (const auto& [labels, value] : metric->second) {
      if (labels.find(label) == std::string::npos) continue;
      sum += std::isnan(value) ? kNoNumber : value;
      found = true;
    }
  }
  return found ? sum : std::numeric_limits<double>::quiet_NaN();
}

std::string MetricsPage::label(const std::string& name, const std::string& label) const {
  const auto metric = series_.find(name);
  if (metric == series_.end()) return {};
  const std::string labels = ',' + metric->second.begin()->first, before = ',' + label + "=\"";
  const std::size_t at = labels.find(before);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + before.size();
  return labels.substr(begin, labels.find('"', begin) - begin);
}

bool HttpAnswer::add(int status, std::string_view bytes) {
  const std::size_t most = status == 200 ? kMostBytes : kMostErrorBytes;
  cut_ = bytes.size() > most - body.size();
  body += bytes.substr(0, most - body.size());
  return !cut_;
}

/// The begin of an error's body tells enough.
void HttpAnswer::close(const HttpEnd& with) {
  end = with;
  if (cut_) end.error = end.status == 200 ? "it is longer than 16 MiB" : "";
}

std::string HttpAnswer::problem() const {
  if (!end.error.empty() && end.status == 0) return end.error;
  if (!end.error.empty() && end.status == 200)
    return "its answer stopped after " + std::to_string(body.size()) + " bytes: " + end.error;
  std::string text = "HTTP " + std::to_string(end.status);
  if (!body.empty()) text += ": " + shown(body);
  if (!end.error.empty()) text += " (" + end.error + ')';
  return text;
}

}  // namespace server
