#include "analysis/report/cell_names.hpp"

#include <iterator>
#include <vector>

namespace analysis {
namespace {

/// "0 to 5", "9"
std::vector<std::string> ranges_of(const std::set<int>& numbers) {
  std::vector<std::string> ranges;
  for (auto first = numbers.begin(); first != numbers.end();) {
    auto last = first, next = std::next(first);
    while (next != numbers.end() && *next == *last + 1) last = next++;
    const std::string from = std::to_string(*first);
    const bool is_range = *last > *first + 1;  // two are said one by one
    ranges.push_back(is_range ? from + " to " + std::to_string(*last) : from);
    first = is_range ? next : std::next(first);
  }
  return ranges;
}

}  // namespace

std::string to_text(const NamedCells& cells) {
  std::string text;
  for (const auto& [archive, numbers] : cells) {
    text += (text.empty() ? "" : "; ") + std::string(numbers.size() == 1 ? "cell " : "cells ");
    const std::vector<std::string> ranges = ranges_of(numbers);
    for (std::size_t i = 0; i < ranges.size(); ++i)
      text += (i == 0 ? "" : i + 1 == ranges.size() ? " and " : ", ") + ranges[i];
    text += " of " + archive;
  }
  return text;
}

}  // namespace analysis
