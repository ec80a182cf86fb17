#pragma once
#include <compare>
#include <string>

#include "analysis/compare/config.hpp"

namespace analysis {

/// What figures come from. Only figures of equal kind are comparable or share a table.
struct FiguresKind {
  std::string backend, cost_model, emulate;  // "-": none
  auto operator<=>(const FiguresKind&) const = default;
};

FiguresKind kind_of(const ConfiguredCell& cell);

/// "MODELLED (sim, published)", "MEASURED (cuda, pool of a100-40gb)".
std::string to_text(const FiguresKind& kind);

inline std::string figures_kind(const ConfiguredCell& cell) { return to_text(kind_of(cell)); }

}  // namespace analysis
