#pragma once
#include <deque>

namespace policies {

/// Whether many finished turns of a job predict few remaining ones: minus the Pearson correlation
/// of k and N - k over all turn boundaries k = 1 .. N-1 of the last jobs that ended. 1 when all
/// jobs are equally long, about 0 when their length is geometric, and 0 while it is undefined
/// (arXiv:2511.02230, eta).
class Memoryfulness {
 public:
  void on_job_end(int turns);
  double value() const;

 private:
  struct Sums {
    double n = 0, behind = 0, ahead = 0, behind_squared = 0, ahead_squared = 0, product = 0;
    void add(const Sums& other, double sign);
  };
  static Sums sums_of(int turns);

  static constexpr std::size_t kWindow = 256;  // jobs
  std::deque<int> lengths_;
  Sums sums_;
};

}  // namespace policies
