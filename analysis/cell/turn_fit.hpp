#pragma once
#include <string>

#include "analysis/cell/least_squares.hpp"
#include "sweeps/tables/table.hpp"

namespace analysis {

/// What turn times alone tell of an engine whose steps are not seen: the time to the first token by
/// the prompt tokens that were computed and those that were found in a cache, and the time per
/// output token. Both include waiting and the work of other requests.
class TurnFit {
 public:
  enum Variable : std::size_t { computed, cached, count };

  TurnFit() : ttft_(count) {}
  /// The rows of a cell in /turns.
  void add(const sweep::Table& turns);
  std::int64_t turns() const { return ttft_.n(); }
  /// TTFT in seconds, without the slope of cached tokens where none were found; empty if the turns
  /// do not determine it.
  std::optional<Plane> ttft() const {
    const std::optional<Plane> whole = ttft_.fit(count);
    return whole ? whole : ttft_.fit(1);
  }
  /// Less of the variance of TTFT than this, explained by tokens, means that the rest decides: the
  /// slopes are no costs of tokens.
  static constexpr double kLeastR2 = 0.5;
  /// A sentence on a fit that explains less; empty for others.
  std::string caveat() const;
  /// Mean over turns of the seconds per output token; NaN without one.
  double tpot_s() const;

 private:
  LeastSquares ttft_;
  double tpot_sum_s_ = 0;
  std::int64_t tpot_turns_ = 0;
};

}  // namespace analysis
