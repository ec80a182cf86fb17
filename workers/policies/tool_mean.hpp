#pragma once
#include <optional>
#include <vector>

#include "workers/engine/clock.hpp"
#include "workers/engine/ids.hpp"

namespace policies {

/// Mean duration of each tool over all calls seen, measured from a turn's finish to the next turn's
/// arrival.
class ToolMean {
 public:
  void add(engine::ToolId tool, engine::Nanos duration) {
    Sum& sum = sum_of(tool);
    sum.total += duration;
    ++sum.calls;
  }

  /// Empty while the tool has not returned once.
  std::optional<engine::Nanos> mean(engine::ToolId tool) {
    const Sum& sum = sum_of(tool);
    if (sum.calls == 0) return std::nullopt;
    return sum.total / sum.calls;
  }

 private:
  struct Sum {
    engine::Nanos total{0};
    int calls = 0;
  };
  Sum& sum_of(engine::ToolId tool) {
    const auto at = static_cast<std::size_t>(tool);
    if (at >= sums_.size()) sums_.resize(at + 1);
    return sums_[at];
  }

  std::vector<Sum> sums_;
};

}  // namespace policies
