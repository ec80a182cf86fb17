#pragma once
#include <iosfwd>
#include <string>

#include "workers/client.hpp"

namespace driver {

/// One status line on a terminal, rewritten in place; on anything else a plain line a finished
/// cell.
class ProgressLine {
 public:
  ProgressLine(std::ostream& out, bool terminal, int cells);

  void begin_cell(const std::string& label);
  void update(const worker::Progress& progress);
  void end_cell(const std::string& outcome);

 private:
  void show(const std::string& text);

  std::ostream& out_;
  bool terminal_;
  int cells_;
  int current_ = 0;
  int shown_percent_ = -1;
  std::string label_;
  std::size_t shown_ = 0;  // characters of the line that stands
};

}  // namespace driver
