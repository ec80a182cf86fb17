#pragma once
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "driver/farm/farm.hpp"

namespace driver {

/// "5/72 done, 2 running, 65 left; a100-40gb 1/24, about 40 s".
std::string status_text(const FarmStatus& status);

/// Columns of the terminal on standard error; 0 if it is not a terminal or reports no size.
int terminal_columns();

/// Progress of a run. On a terminal: one line, rewritten in place and cut at the terminal's width.
/// Elsewhere: a plain line for every cell that ends, and a line with the counts every 10 s and as
/// soon as the run drains.
class ProgressLine {
 public:
  /// `columns` is called for each line, since a window can be resized.
  ProgressLine(std::ostream& out, bool terminal, std::function<int()> columns = terminal_columns)
      : out_(out), terminal_(terminal), columns_(std::move(columns)) {}
  ~ProgressLine();

  void update(const FarmStatus& status);
  /// Prints a whole line: a cell is over, or an attempt ended without a result.
  void report(const std::string& line);

 private:
  std::string cut(const std::string& text) const;
  void erase();

  std::ostream& out_;
  bool terminal_;
  std::function<int()> columns_;
  std::size_t shown_ = 0;  // length of the line on the terminal, in characters
  Nanos last_counts_{0};   // when a plain line last gave the counts, on the farm's clock
  bool said_draining_ = false;
};

/// Says what a merge is at, since one of very many rows takes minutes: nothing in its first two
/// seconds, then a line every ten.
class MergeReporter {
 public:
  MergeReporter(std::ostream& out, std::function<Nanos()> now) : out_(out), now_(std::move(now)) {}

  void operator()(std::string_view what, std::size_t done, std::size_t of);

 private:
  std::ostream& out_;
  std::function<Nanos()> now_;
  Nanos next_{0};  // when to say something
};

}  // namespace driver
