#pragma once
#include <functional>
#include <iosfwd>
#include <string>

#include "driver/farm.hpp"

namespace driver {

/// "5/72 done, 2 running, 65 left; a100-40gb 1/24, about 40 s".
std::string status_text(const FarmStatus& status);

/// Columns of the terminal that standard error is; 0 where it is none or does not say.
int terminal_columns();

/// Where a run stands: one line on a terminal, rewritten in place and cut where the terminal ends;
/// elsewhere a plain line for every cell that ends, and one of the counts every ten seconds and as
/// soon as the run drains.
class ProgressLine {
 public:
  /// `columns` is asked each time, since windows change their size.
  ProgressLine(std::ostream& out, bool terminal, std::function<int()> columns = terminal_columns)
      : out_(out), terminal_(terminal), columns_(std::move(columns)) {}
  ~ProgressLine();

  void update(const FarmStatus& status);
  /// A cell is over, or an attempt was in vain.
  void report(const std::string& line);

 private:
  std::string cut(const std::string& text) const;
  void erase();

  std::ostream& out_;
  bool terminal_;
  std::function<int()> columns_;
  std::size_t shown_ = 0;  // characters of the line that stands
  Nanos last_counts_{0};   // when a plain line said them last, on the farm's clock
  bool said_draining_ = false;
};

}  // namespace driver
