#include "analysis/answer/sentences.hpp"

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

std::string ratio_text(const Ratio& ratio) {
  const auto text = [](double value) {
    return value < 10 ? two_decimals(value) : four_digits(value);
  };
  if (std::isnan(ratio.interval.low)) return text(ratio.value);
  return text(ratio.value) + " (" + text(ratio.interval.low) + " .. " + text(ratio.interval.high) +
         ')';
}

std::string per_rate(std::vector<std::string> values, const std::vector<std::string>& rates,
                     const std::string& unit) {
  if (values.size() == 1) return values.front() + unit;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] += i == 0 && !unit.empty() ? unit + ' ' + at_rates({rates[i]}) : " at " + rates[i];
  return listed(values);
}

void add_once(std::vector<std::string>& texts, const std::string& text) {
  if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
}

}  // namespace analysis
