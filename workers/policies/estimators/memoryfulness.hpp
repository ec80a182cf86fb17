#pragma once
#include <cmath>
#include <deque>

namespace policies {

/// Whether many finished turns of a job predict few remaining ones: minus the Pearson correlation
/// of k and N - k over all turn boundaries k = 1 .. N-1 of the last jobs that ended. 1 when all
/// jobs are equally long, about 0 when their length is geometric, and 0 while it is undefined
/// (arXiv:2511.02230, eta).
class Memoryfulness {
 public:
  void on_job_end(int turns) {
    lengths_.push_back(turns);
    sums_.add(sums_of(turns), 1);
    if (lengths_.size() <= kWindow) return;
    sums_.add(sums_of(lengths_.front()), -1);
    lengths_.pop_front();
  }
  double value() const {
    const Sums& s = sums_;
    const double spread_behind = s.n * s.behind_squared - s.behind * s.behind;
    const double spread_ahead = s.n * s.ahead_squared - s.ahead * s.ahead;
    // All sums are integers, so the spread of an undefined correlation is exactly zero.
    if (spread_behind <= 0 || spread_ahead <= 0) return 0;
    return -(s.n * s.product - s.behind * s.ahead) / std::sqrt(spread_behind * spread_ahead);
  }

 private:
  struct Sums {
    double n = 0, behind = 0, ahead = 0, behind_squared = 0, ahead_squared = 0, product = 0;
    void add(const Sums& other, double sign) {
      n += sign * other.n;
      behind += sign * other.behind;
      ahead += sign * other.ahead;
      behind_squared += sign * other.behind_squared;
      ahead_squared += sign * other.ahead_squared;
      product += sign * other.product;
    }
  };
  static Sums sums_of(int turns) {
    Sums sums;
    for (int k = 1; k < turns; ++k) {
      const double behind = k, ahead = turns - k;
      sums.add({1, behind, ahead, behind * behind, ahead * ahead, behind * ahead}, 1);
    }
    return sums;
  }

  static constexpr std::size_t kWindow = 256;  // jobs
  std::deque<int> lengths_;
  Sums sums_;
};

}  // namespace policies
