#pragma once
#include <optional>

#include "analysis/least_squares.hpp"
#include "sweeps/table.hpp"

namespace analysis {

/// What steps take, by what they compute: least squares over the steps of any number of cells, in
/// seconds. A request of `n` scheduled tokens behind `before` computed ones reads before + n KV
/// tokens; more than one token at once attend to n * (before + (n + 1) / 2) of them in pairs. Time
/// in which copies held a step up is none of its time, and steps that compute nothing are left out.
class StepFit {
 public:
  /// The variables of a plane, in order.
  enum Variable : std::size_t { tokens, kv_tokens, pairs, count };

  /// A cell's /steps and /sched. Throws sweep::TableError when they are other tables.
  void add(const sweep::Table& steps, const sweep::Table& sched);
  std::int64_t steps() const { return planes_.n(); }
  /// On the first `variables`; nothing where the steps do not determine it.
  std::optional<Plane> plane(std::size_t variables) const { return planes_.fit(variables); }

 private:
  LeastSquares planes_{count};
};

}  // namespace analysis
