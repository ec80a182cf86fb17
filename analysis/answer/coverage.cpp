#include <algorithm>
#include <iterator>
#include <map>
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
  for (const ConfiguredCell& cell : cells) {
    if (cell.record->status == sweep::CellStatus::excluded) continue;
    planned.push_back(cell.record->label);
    if (cell.record->status != sweep::CellStatus::ok) missing.push_back(cell.record->label);
  }
  const std::size_t excluded = cells.size() - planned.size();
  return coverage_text(planned, std::move(missing)) +
         (excluded > 0 ? "; " + std::to_string(excluded) + " excluded" : "");
}

}  // namespace analysis
