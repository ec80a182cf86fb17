#include "driver/farm/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <ostream>

#include "analysis/text/escape.hpp"

namespace driver {
namespace {

constexpr Nanos kPlainPeriod = std::chrono::seconds(10);

std::string about(double seconds) {
  const auto [unit_s, unit] = seconds < 90     ? std::pair(1, "s")
                              : seconds < 5400 ? std::pair(60, "min")
                                               : std::pair(3600, "h");
  return sweep::formatted("about %.0f ", std::ceil(seconds / unit_s)) + unit;
}

}  // namespace

std::string status_text(const FarmStatus& status) {
  std::string text = std::to_string(status.done) + '/' + std::to_string(status.cells) + " done, " +
                     std::to_string(status.running) + " running, " +
                     std::to_string(status.waiting) + " left";
  if (status.ended > 0) text += ", " + std::to_string(status.ended) + " without a result";
  for (const SkuStatus& sku : status.skus) {
    if (sku.waiting + sku.running == 0) continue;
    text += "; " + sku.sku + ' ' + std::to_string(sku.over) + '/' +
            std::to_string(sku.over + sku.running + sku.waiting);
    if (sku.eta_s) text += ", " + about(*sku.eta_s);
  }
  return status.draining ? text + " (draining)" : text;
}

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

ProgressLine::~ProgressLine() {
  erase();
  out_ << std::flush;
}

void ProgressLine::update(const FarmStatus& status) {
  const std::string text = analysis::terminal_text(status_text(status));
  if (!terminal_) {
    if (status.now - last_counts_ < kPlainPeriod && status.draining == said_draining_) return;
    last_counts_ = status.now;
    said_draining_ = status.draining;
    out_ << text << std::endl;
    return;
  }
  erase();
  const std::string line = cut(text);
  out_ << line << std::flush;
  shown_ = line.size();
}

/// A line that reaches the last column may wrap, and then cannot be erased.
std::string ProgressLine::cut(const std::string& text) const {
  constexpr std::size_t kDots = 3;
  const int columns = columns_();
  if (columns <= 0 || text.size() < static_cast<std::size_t>(columns)) return text;
  const std::size_t room = static_cast<std::size_t>(columns) - 1;
  return room <= kDots ? text.substr(0, room) : text.substr(0, room - kDots) + "...";
}

void ProgressLine::report(const std::string& line) {
  erase();
  out_ << analysis::terminal_text(line) << std::endl;  // labels and reasons quote files
}

void ProgressLine::erase() {
  if (shown_ > 0) out_ << '\r' << std::string(shown_, ' ') << '\r';
  shown_ = 0;
}

void MergeReporter::operator()(std::string_view what, std::size_t done, std::size_t of) {
  constexpr Nanos kShort = std::chrono::seconds(2);
  const Nanos now = now_();
  const bool begins = done == 0 && what != "verifying cells";
  if (begins) next_ = now + kShort;
  if (of == 0 || now < next_) return;
  next_ = now + kPlainPeriod;
  out_ << what << ": " << done << " of " << of << std::endl;
}

}  // namespace driver
