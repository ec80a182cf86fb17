#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/compare.hpp"

namespace analysis {

using KeyValues = std::vector<std::optional<sweep::Value>>;

/// Cells with results that differ only in their repeat.
struct RepeatGroup {
  KeyValues at;                    // a value per grouping key
  std::vector<std::string> texts;  // key_text of each
  std::vector<const ConfiguredCell*> repeats;
};

/// Groups in plan order. Throws CompareError when cells of a group differ in more than their seed.
std::vector<RepeatGroup> groups_by(std::span<const ConfiguredCell> cells,
                                   const std::vector<std::string>& keys);

/// The first key in which two cells differ and that does not follow from a named one.
std::optional<ConfigDifference> first_incomparable(const ConfiguredCell& a, const ConfiguredCell& b,
                                                   const std::vector<std::string>& named);

/// Throws CompareError when two cells differ in a key that does not follow from a named one.
void require_comparable(const ConfiguredCell& a, const ConfiguredCell& b,
                        const std::vector<std::string>& named);

/// A text for the value; 1 and 1.0 give the same text.
std::string key_text(const std::optional<sweep::Value>& value);

}  // namespace analysis
