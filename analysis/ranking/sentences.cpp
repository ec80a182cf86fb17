#include "analysis/ranking/sentences.hpp"

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

std::vector<std::string> ranges_of(const std::set<int>& numbers, int shortest) {
  std::vector<std::string> ranges;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const int first = *at;
    int last = first;
    while (++at != numbers.end() && *at == last + 1) ++last;
    const bool is_range = last - first + 1 >= shortest;
    if (is_range) ranges.push_back(std::to_string(first) + " to " + std::to_string(last));
    for (int each = first; each <= last && !is_range; ++each)
      ranges.push_back(std::to_string(each));
  }
  return ranges;
}

std::string coverage_text(std::span<const ConfiguredCell> cells) {
  std::vector<std::string> missing;
  std::size_t planned = 0, excluded = 0, not_asked = 0, kept = 0;
  for (const ConfiguredCell& cell : cells) {
    const sweep::CellStatus status = cell.record->status;
    if (cell.record->kept) {
      ++kept;
    } else if (status == sweep::CellStatus::excluded) {
      ++excluded;
    } else if (status == sweep::CellStatus::planned && !cell.record->reason.empty()) {
      ++not_asked;
    } else {
      ++planned;
      if (status != sweep::CellStatus::ok) missing.push_back(cell.record->label);
    }
  }
  const std::size_t with_result = planned - missing.size();
  std::vector<std::string> parts;
  if (planned > 0)
    parts.push_back(std::to_string(with_result) + " of " + std::to_string(planned) +
                    " cells have a result");
  if (missing.size() > 2)
    missing = {missing[0], missing[1], std::to_string(missing.size() - 2) + " more"};
  if (!missing.empty()) parts.push_back("missing: " + listed(missing));
  if (excluded > 0) parts.push_back(std::to_string(excluded) + " excluded");
  if (not_asked > 0) parts.push_back(std::to_string(not_asked) + " not asked for");
  if (kept > 0) parts.push_back(kept_text(kept) + ": kvsweep status lists them");
  return sweep::joined(parts, "; ");
}

std::string kept_text(std::size_t kept) {
  return std::to_string(kept) + (kept == 1 ? " result is" : " results are") +
         " kept from another setting";
}

}  // namespace analysis
