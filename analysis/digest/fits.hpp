#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sweeps/tables/table.hpp"

namespace analysis {

/// y = intercept + sum over i of slopes[i] * x[i].
struct Plane {
  double intercept = 0;
  std::vector<double> slopes;
  double r_squared = 0;  // NaN if y does not vary
  double rms = 0;        // of the residuals
};

/// Least squares on at most kMost variables in constant memory: keeps the means, and the sums of
/// products of the deviations from them. Sums of disjoint sets of points can be added.
class LeastSquares {
 public:
  static constexpr std::size_t kMost = 3;
  explicit LeastSquares(std::size_t variables);
  /// `x` has as many elements as there are variables.
  void add(std::span<const double> x, double y);
  void add(double x, double y) { add({&x, 1}, y); }
  void add(const LeastSquares& other);
  std::int64_t n() const { return n_; }
  /// The fit on only the first `variables`; empty if the points do not determine it.
  std::optional<Plane> fit(std::size_t variables = 1) const;

 private:
  std::size_t variables_;
  std::int64_t n_ = 0;
  std::array<double, kMost + 1> mean_{};  // of every variable, then of y
  std::array<std::array<double, kMost + 1>, kMost + 1> products_{};
};

/// Fits the duration of steps, in seconds, to what they compute: least squares over the steps of
/// any number of cells. A request with n scheduled tokens after p computed ones reads p + n KV
/// tokens; if n > 1 it also has n * (p + (n + 1) / 2) query-key pairs. The time that a step waits
/// for copies is subtracted. Steps that compute nothing are left out.
class StepFit {
 public:
  /// The variables of a plane, in order.
  enum Variable : std::size_t { tokens, kv_tokens, pairs, count };

  /// The spans to which asynchronous steps are fitted. Two batches are on their way at once, so
  /// that a batch's time falls partly into the step before its own, and only sums are right.
  static constexpr int kAsyncSpan = 16;

  /// Adds a cell's /steps and /sched, as means over spans of as many steps without a pause between
  /// them; steps that fill no span are left out. Throws sweep::TableError for other tables.
  void add(const sweep::Table& steps, const sweep::Table& sched, int span = 1);
  std::int64_t steps() const { return steps_; }
  /// The fit on the first `variables`; empty if the steps do not determine it.
  std::optional<Plane> plane(std::size_t variables) const { return planes_.fit(variables); }

 private:
  LeastSquares planes_{count};
  std::int64_t steps_ = 0;
};

/// A plane of StepFit as a sum with units and how well it fits; it may have only the first terms.
std::string step_formula(const Plane& plane);

}  // namespace analysis
