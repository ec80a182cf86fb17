#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "analysis/answer/answer.hpp"
#include "analysis/answer/sentences.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;

/// The words of a label: "gpu=h100-80gb", "policy=pin".
Texts words_of(const std::string& label) {
  std::istringstream stream(label);
  return {std::istream_iterator<std::string>(stream), {}};
}

/// The words of a label that are, or are not, among these.
std::string words_in(const std::string& label, const Texts& those, bool are_in) {
  std::string text;
  for (const std::string& word : words_of(label))
    if ((std::ranges::find(those, word) != those.end()) == are_in)
      text += (text.empty() ? "" : " ") + word;
  return text;
}

/// How many labels have each word.
std::map<std::string, std::size_t> counted(std::span<const std::string> labels) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& label : labels)
    for (const std::string& word : words_of(label)) ++counts[word];
  return counts;
}

/// The word that stands for the most missing cells: none of several planned cells with it has a
/// result, and others were planned. Empty if there is none.
std::string whole_value(std::span<const std::string> planned, const Texts& missing) {
  const auto all = counted(planned), lacking = counted(missing);
  std::string best;
  for (const auto& [word, count] : lacking) {
    const auto of_all = all.find(word);
    const bool is_whole = of_all != all.end() && of_all->second == count && count > 1;
    if (is_whole && count < planned.size() && (best.empty() || count > lacking.at(best)))
      best = word;
  }
  return best;
}

/// "h200-141gb" of "gpu=h200-141gb"; other keys are named.
std::string value_text(const std::string& word) {
  for (const std::string key : {"gpu=", "policy="})
    if (word.starts_with(key)) return word.substr(key.size());
  return word;
}

/// " with gpu=h100-80gb: jps=1, jps=3 and 5 more"
std::string named_text(const Texts& missing) {
  constexpr std::size_t kMostNamed = 4;
  Texts common = missing.size() > 1 ? words_of(missing.front()) : Texts{};
  for (const std::string& label : missing) {
    const Texts own = words_of(label);
    std::erase_if(
        common, [&](const std::string& word) { return std::ranges::find(own, word) == own.end(); });
  }
  Texts named;
  for (const std::string& label : missing) {
    if (named.size() == kMostNamed) break;
    named.push_back(words_in(label, common, false));
    if (named.back().empty()) named.back() = "repeat=0";
  }
  const std::size_t more = missing.size() - named.size();
  if (more > 0) named.push_back(std::to_string(more) + " more");
  return (common.empty() ? "" : " with " + words_in(missing.front(), common, true)) + ": " +
         listed(named);
}

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

std::string coverage_text(std::span<const std::string> planned, std::vector<std::string> missing) {
  std::string text = std::to_string(planned.size() - missing.size()) + " of " +
                     std::to_string(planned.size()) + " cells have a result";
  Texts whole;
  for (std::string word; !(word = whole_value(planned, missing)).empty();) {
    whole.push_back(value_text(word));
    std::erase_if(missing, [&](const std::string& label) {
      const Texts own = words_of(label);
      return std::ranges::find(own, word) != own.end();
    });
  }
  if (!whole.empty()) text += "; missing: all of " + listed(whole);
  return missing.empty() ? text : text + "; missing" + named_text(missing);
}

std::string coverage_text(std::span<const ConfiguredCell> cells) {
  Texts planned, missing;
  std::size_t excluded = 0, not_asked = 0;
  for (const ConfiguredCell& cell : cells) {
    if (is_kept(cell)) continue;
    if (cell.record->status == sweep::CellStatus::excluded) {
      ++excluded;
      continue;
    }
    if (cell.record->status == sweep::CellStatus::planned && !cell.record->reason.empty()) {
      ++not_asked;
      continue;
    }
    planned.push_back(cell.record->label);
    if (cell.record->status != sweep::CellStatus::ok) missing.push_back(cell.record->label);
  }
  Texts parts = {coverage_text(planned, std::move(missing))};
  if (planned.empty()) parts.clear();
  if (excluded > 0) parts.push_back(std::to_string(excluded) + " excluded");
  if (not_asked > 0) parts.push_back(std::to_string(not_asked) + " not asked for");
  if (const std::string kept = kept_text(cells); !kept.empty()) parts.push_back(kept);
  return sweep::joined(parts, "; ");
}

std::string kept_text(std::span<const ConfiguredCell> cells) {
  constexpr std::size_t kMostNamed = 3;
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
  if (named.size() > kMostNamed) {
    named[kMostNamed] = std::to_string(named.size() - kMostNamed) + " more";
    named.resize(kMostNamed + 1);
  }
  return text + ": " + listed(named);
}

}  // namespace analysis
