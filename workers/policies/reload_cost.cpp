#include "workers/policies/config.hpp"

#include <array>
#include <cmath>
#include <utility>

namespace policies {
namespace {

constexpr int kUnknowns = 3;
using Row = std::array<double, kUnknowns + 1>;
using Equations = std::array<Row, kUnknowns>;

/// Gaussian elimination with pivoting.
std::array<double, kUnknowns> solve(Equations rows) {
  for (std::size_t column = 0; column < kUnknowns; ++column) {
    std::size_t pivot = column;
    for (std::size_t r = column + 1; r < kUnknowns; ++r)
      if (std::abs(rows[r][column]) > std::abs(rows[pivot][column])) pivot = r;
    std::swap(rows[column], rows[pivot]);
    for (std::size_t r = 0; r < kUnknowns; ++r) {
      if (r == column) continue;
      const double factor = rows[r][column] / rows[column][column];
      for (std::size_t c = column; c <= kUnknowns; ++c) rows[r][c] -= factor * rows[column][c];
    }
  }
  std::array<double, kUnknowns> solution{};
  for (std::size_t i = 0; i < kUnknowns; ++i) solution[i] = rows[i][kUnknowns] / rows[i][i];
  return solution;
}

}  // namespace

ReloadCost fit_reload_cost(const std::function<double(int)>& prefill_s) {
  constexpr double kUnit = 1024;  // keeps the equations well conditioned
  Equations normal{};
  for (const int tokens : {1024, 2048, 4096, 8192, 16384}) {
    const double n = tokens / kUnit;
    const std::array<double, kUnknowns> powers = {1, n, n * n};
    for (std::size_t r = 0; r < kUnknowns; ++r) {
      for (std::size_t c = 0; c < kUnknowns; ++c) normal[r][c] += powers[r] * powers[c];
      normal[r][kUnknowns] += powers[r] * prefill_s(tokens);
    }
  }
  const auto [fixed, linear, quadratic] = solve(normal);
  return {fixed, linear / kUnit, quadratic / (kUnit * kUnit)};
}

}  // namespace policies
