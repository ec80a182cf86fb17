#pragma once
#include <optional>

#include "analysis/cell/least_squares.hpp"
#include "sweeps/tables/table.hpp"

namespace analysis {

/// Fits the duration of steps, in seconds, to what they compute: least squares over the steps of
/// any number of cells. A request with n scheduled tokens after p computed ones reads p + n KV
/// tokens; if n > 1 it also has n * (p + (n + 1) / 2) query-key pairs. The time that a step waits
/// for copies is subtracted. Steps that compute nothing are left out.
class StepFit {
 public:
  /// The variables of a plane, in order.
  enum Variable : std::size_t { tokens, kv_tokens, pairs, count };

  /// Adds a cell's /steps and /sched. Throws sweep::TableError for other tables.
  void add(const sweep::Table& steps, const sweep::Table& sched);
  std::int64_t steps() const { return planes_.n(); }
  /// The fit on the first `variables`; empty if the steps do not determine it.
  std::optional<Plane> plane(std::size_t variables) const { return planes_.fit(variables); }

 private:
  LeastSquares planes_{count};
};

}  // namespace analysis
