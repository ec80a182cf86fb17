#include "analysis/ranking/coverage.hpp"

#include "analysis/ranking/sentences.hpp"

namespace analysis {

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
