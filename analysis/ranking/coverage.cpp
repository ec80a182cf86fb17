#include "analysis/ranking/coverage.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "analysis/ranking/sentences.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;

bool is_kept(const ConfiguredCell& cell) { return cell.record->kept; }

/// The values of a key in cells of the plan, and in results that are kept.
struct ValuesOfKey {
  std::set<std::string> planned, kept;
};

/// By name; keys that are an axis come first.
std::map<std::pair<bool, std::string>, ValuesOfKey> values_by_key(
    std::span<const ConfiguredCell> cells) {
  std::set<std::string> axes;
  for (const ConfiguredCell& cell : cells)
    for (const auto& [axis, value] : cell.record->axes) axes.insert(axis);
  std::map<std::pair<bool, std::string>, ValuesOfKey> values;
  for (const ConfiguredCell& cell : cells) {
    for (const auto& [key, value] : cell.config) {
      ValuesOfKey& of_key = values[{!axes.contains(key), key}];
      (is_kept(cell) ? of_key.kept : of_key.planned).insert(shown(value));
    }
  }
  return values;
}

/// "a, b and 3 more" of many.
std::string listed_up_to(std::size_t most, Texts texts) {
  if (texts.size() > most) {
    texts[most] = std::to_string(texts.size() - most) + " more";
    texts.resize(most + 1);
  }
  return listed(texts);
}

/// "1, 3, ..." of many values.
std::string some_of(Texts values) {
  constexpr std::size_t kMost = 3;
  if (values.empty()) return "none";
  if (values.size() > kMost) {
    values.resize(kMost);
    values.push_back("...");
  }
  return sweep::joined(values);
}

}  // namespace

std::string coverage_text(std::span<const ConfiguredCell> cells) {
  Texts missing;
  std::size_t planned = 0, excluded = 0, not_asked = 0;
  for (const ConfiguredCell& cell : cells) {
    const sweep::CellStatus status = cell.record->status;
    if (is_kept(cell)) continue;
    if (status == sweep::CellStatus::excluded) {
      ++excluded;
    } else if (status == sweep::CellStatus::planned && !cell.record->reason.empty()) {
      ++not_asked;
    } else {
      ++planned;
      if (status != sweep::CellStatus::ok) missing.push_back(cell.record->label);
    }
  }
  Texts parts;
  if (planned > 0)
    parts.push_back(std::to_string(planned - missing.size()) + " of " + std::to_string(planned) +
                    " cells have a result");
  if (!missing.empty()) parts.push_back("missing: " + listed_up_to(2, missing));
  if (excluded > 0) parts.push_back(std::to_string(excluded) + " excluded");
  if (not_asked > 0) parts.push_back(std::to_string(not_asked) + " not asked for");
  if (const std::string kept = kept_text(cells); !kept.empty()) parts.push_back(kept);
  return sweep::joined(parts, "; ");
}

std::string kept_text(std::span<const ConfiguredCell> cells) {
  const auto kept = std::ranges::count_if(cells, &is_kept);
  if (kept == 0) return "";
  const std::string text = std::to_string(kept) + (kept == 1 ? " result is" : " results are") +
                           " kept from another setting";
  if (static_cast<std::size_t>(kept) == cells.size()) return text;
  Texts named;
  for (const auto& [key, values] : values_by_key(cells)) {
    Texts lost;
    std::ranges::set_difference(values.kept, values.planned, std::back_inserter(lost));
    if (lost.empty()) continue;
    named.push_back(key.second + '=' + some_of(lost) + " (now " +
                    some_of({values.planned.begin(), values.planned.end()}) + ')');
  }
  if (named.empty()) return text + ": other combinations of values";
  return text + ": " + listed_up_to(3, named);
}

}  // namespace analysis
