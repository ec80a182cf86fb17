#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/compare.hpp"

namespace analysis {

/// Cells with results that differ only in their repeat.
struct RepeatGroup {
  std::vector<std::optional<sweep::Value>> at;  // of each grouping key
  std::vector<std::string> texts;               // key_text of each
  std::vector<const ConfiguredCell*> repeats;
};

/// Groups in plan order. Throws CompareError when cells of a group differ in more than their seed.
std::vector<RepeatGroup> groups_by(std::span<const ConfiguredCell> cells,
                                   const std::vector<std::string>& keys);

/// The difference that best says why two cells cannot be compared, an axis of the sweep before what
/// follows from it: in any key except the seed, the named
/// keys and those that follow from them (CompareQuestion::by). A difference in backend or emulation
/// forbids it even if the key is named.
std::optional<ConfigDifference> first_incomparable(const ConfiguredCell& a, const ConfiguredCell& b,
                                                   const std::vector<std::string>& named);

/// Throws CompareError when first_incomparable() finds a difference.
void require_comparable(const ConfiguredCell& a, const ConfiguredCell& b,
                        const std::vector<std::string>& named);

/// Equal for values that count as equal: 1 and 1.0 have the same text.
std::string key_text(const std::optional<sweep::Value>& value);

}  // namespace analysis
