#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/answer/answer.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {

// Which part of a policy makes it fast. The parts of a policy are its order, retention, tier,
// prefetch, preemption and layout; each is what the keys of that part say, and off if it is as in
// fcfs.

/// What a part changes where everything else stays as it is: the figure of `with` over that of
/// `without`, two policies of a row that differ in this part alone, off in `without`.
struct Effect {
  Place place;
  std::string jps;
  std::string part, value;  // "order", "job_fcfs"
  std::string beside;       // the parts that both have on: "retention pin"; empty: none
  std::string without, with;
  Ratio ratio;
};

/// Of all rows, by one figure, in their order.
std::vector<Effect> effects_of(std::span<const RateRow> rows, std::string_view figure);

/// Numbers are rounded to four digits, except in CSV.
Grid to_grid(std::span<const Effect> effects, GridFormat format);

}  // namespace analysis
