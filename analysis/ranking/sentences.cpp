#include "analysis/ranking/sentences.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/text/text_table.hpp"

namespace analysis {

std::string listed(const std::vector<std::string>& texts) {
  std::string list;
  for (std::size_t i = 0; i < texts.size(); ++i)
    list += (i == 0 ? "" : i + 1 == texts.size() ? " and " : ", ") + texts[i];
  return list;
}

std::string at_rates(const std::vector<std::string>& rates) {
  if (rates.size() == 1 && rates.front() == "-") return "";
  const bool is_one = rates.size() == 1 && rates.front() == "1";
  return "at " + listed(rates) + (is_one ? " job/s" : " jobs/s");
}

std::string ratios_text(std::span<const Ratio> ratios, const std::string& unit) {
  const auto text = [](double value) {
    return value < 10 ? two_decimals(value) : four_digits(value);
  };
  const auto [least, most] =
      std::ranges::minmax(ratios, {}, [](const Ratio& r) { return r.value; });
  Interval around = ratios.front().interval;
  for (const Ratio& each : ratios) {
    if (std::isnan(each.interval.low)) around.low = each.interval.low;
    around.low = std::isnan(around.low) ? around.low : std::min(around.low, each.interval.low);
    around.high = std::max(around.high, each.interval.high);
  }
  const std::string range = from_to(text(least.value), text(most.value)) + unit;
  if (std::isnan(around.low)) return range;
  return range + " (" + text(around.low) + " .. " + text(around.high) + ')';
}

std::string from_to(const std::string& least, const std::string& most) {
  return least == most ? least : least + " to " + most;
}

}  // namespace analysis
