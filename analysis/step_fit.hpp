#pragma once
#include "analysis/regression.hpp"
#include "sweeps/table.hpp"

namespace analysis {

/// time = base + per_token x scheduled tokens + per_kv_token x KV tokens read, in seconds. All NaN
/// where the steps do not determine it.
struct StepPlane {
  double base, per_token, per_kv_token;
  double r_squared;
  double rms_s;  // of what it leaves
};

/// What steps take, by what they compute: least squares over the steps of any number of cells. A
/// step reads the KV of every scheduled request up to and with its new tokens, so one of `n` tokens
/// behind `before` computed ones reads before + n. Steps that compute nothing are left out.
class StepFit {
 public:
  /// A cell's /steps and /sched. Throws sweep::TableError when they are other tables.
  void add(const sweep::Table& steps, const sweep::Table& sched);
  /// On scheduled tokens alone, seconds.
  LineFit line() const { return tokens_.fit(); }
  StepPlane plane() const;

 private:
  void add_step(double tokens, double kv_tokens, double seconds);

  LineSums tokens_, kv_;  // seconds on each
  LineSums both_;         // KV tokens on tokens
};

}  // namespace analysis
