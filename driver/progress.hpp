#pragma once
#include <iosfwd>
#include <string>

#include "driver/farm.hpp"

namespace driver {

/// "5/72 done, 2 running, 65 left; a100-40gb 1/24, about 40 s".
std::string status_text(const FarmStatus& status);

/// Where a run stands: one line on a terminal, rewritten in place; elsewhere a plain line for every
/// cell that ends, and one of the counts every ten seconds.
class ProgressLine {
 public:
  ProgressLine(std::ostream& out, bool terminal) : out_(out), terminal_(terminal) {}
  ~ProgressLine();

  void update(const FarmStatus& status);
  /// A cell is over, or an attempt was in vain.
  void report(const std::string& line);

 private:
  void erase();

  std::ostream& out_;
  bool terminal_;
  std::size_t shown_ = 0;  // characters of the line that stands
  Nanos last_counts_{0};   // when a plain line said them last, on the farm's clock
};

}  // namespace driver
