#include "driver/progress.hpp"

#include <ostream>

namespace driver {

ProgressLine::ProgressLine(std::ostream& out, bool terminal, int cells)
    : out_(out), terminal_(terminal), cells_(cells) {}

void ProgressLine::begin_cell(const std::string& label) {
  ++current_;
  shown_percent_ = -1;
  label_ = '[' + std::to_string(current_) + '/' + std::to_string(cells_) + "] " + label;
}

void ProgressLine::update(const worker::Progress& progress) {
  const int percent = progress.finished_jobs * 100 / progress.jobs;
  if (!terminal_ || percent == shown_percent_) return;
  shown_percent_ = percent;
  show(label_ + ": " + std::to_string(progress.finished_jobs) + '/' +
       std::to_string(progress.jobs) + " jobs, " + std::to_string(progress.steps) + " steps, " +
       std::to_string(static_cast<int>(progress.now_s)) + " s of trace");
}

void ProgressLine::end_cell(const std::string& outcome) {
  show(label_ + ": " + outcome);
  out_ << std::endl;
  shown_ = 0;
}

void ProgressLine::show(const std::string& text) {
  const std::size_t blanks = shown_ > text.size() ? shown_ - text.size() : 0;
  if (terminal_) out_ << '\r';
  out_ << text << std::string(blanks, ' ') << std::flush;
  shown_ = terminal_ ? text.size() : 0;
}

}  // namespace driver
