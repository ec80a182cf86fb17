#pragma once
// Private to this room: phrases that sentences share.
#include <string>
#include <vector>

#include "analysis/answer/arrangement.hpp"
#include "analysis/compare/estimate.hpp"

namespace analysis {

/// "1", "1 and 3", "1, 3 and 6".
std::string listed(const std::vector<std::string>& texts);

/// "at 1 job/s", "at 1 and 3 jobs/s"; empty for jobs that do not arrive at a rate.
std::string at_rates(const std::vector<std::string>& rates);

/// "4.01 (3.90 .. 4.10)"; without an interval the ratio alone.
std::string ratio_text(const Ratio& ratio);

void add_once(std::vector<std::string>& texts, const std::string& text);

/// Names places; their kind only where there are several.
class PlaceNames {
 public:
  void add(const Place& place);
  const std::vector<std::string>& kinds() const { return kinds_; }
  std::string operator()(const Place& place) const;

 private:
  std::vector<std::string> kinds_;
};

}  // namespace analysis
