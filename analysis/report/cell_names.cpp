#include "analysis/report/cell_names.hpp"

#include <iterator>
#include <set>

#include "analysis/ranking/sentences.hpp"

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

std::string named_cells(const std::vector<std::string>& keys, const CellOrigins& origins) {
  std::map<std::string, std::set<int>> cells;  // by archive
  for (const std::string& key : keys)
    if (const auto known = origins.find(key); known != origins.end())
      cells[known->second.first].insert(known->second.second);
  std::string text;
  for (const auto& [archive, numbers] : cells) {
    text += (text.empty() ? "" : "; ") + std::string(numbers.size() == 1 ? "cell " : "cells ") +
            listed(ranges_of(numbers)) + " of " + archive;
  }
  return text;
}

}  // namespace analysis
