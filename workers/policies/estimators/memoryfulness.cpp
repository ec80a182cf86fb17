#include "workers/policies/estimators/memoryfulness.hpp"

#include <cmath>

namespace policies {

void Memoryfulness::Sums::add(const Sums& other, double sign) {
  n += sign * other.n;
  behind += sign * other.behind;
  ahead += sign * other.ahead;
  behind_squared += sign * other.behind_squared;
  ahead_squared += sign * other.ahead_squared;
  product += sign * other.product;
}

Memoryfulness::Sums Memoryfulness::sums_of(int turns) {
  Sums sums;
  for (int k = 1; k < turns; ++k) {
    const double behind = k, ahead = turns - k;
    sums.add({1, behind, ahead, behind * behind, ahead * ahead, behind * ahead}, 1);
  }
  return sums;
}

void Memoryfulness::on_job_end(int turns) {
  lengths_.push_back(turns);
  sums_.add(sums_of(turns), 1);
  if (lengths_.size() <= kWindow) return;
  sums_.add(sums_of(lengths_.front()), -1);
  lengths_.pop_front();
}

double Memoryfulness::value() const {
  const Sums& s = sums_;
  const double spread_behind = s.n * s.behind_squared - s.behind * s.behind;
  const double spread_ahead = s.n * s.ahead_squared - s.ahead * s.ahead;
  // All sums are integers, so the spread of an undefined correlation is exactly zero.
  if (spread_behind <= 0 || spread_ahead <= 0) return 0;
  return -(s.n * s.product - s.behind * s.ahead) / std::sqrt(spread_behind * spread_ahead);
}

}  // namespace policies
