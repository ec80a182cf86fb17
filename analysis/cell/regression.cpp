#include "analysis/cell/regression.hpp"

#include "sweeps/tables/schema.hpp"

namespace analysis {

void LineSums::add(double x, double y) {
  LineSums one;
  one.n_ = 1;
  one.mean_x_ = x;
  one.mean_y_ = y;
  add(one);
}

// The pairwise update of Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for
// Computing Sample Variances", 1979. Numerically stable, unlike sums of squares.
void LineSums::add(const LineSums& other) {
  if (other.n_ == 0) return;
  const auto own = static_cast<double>(n_), more = static_cast<double>(other.n_);
  const double all = own + more, weight = own * more / all;
  const double dx = other.mean_x_ - mean_x_, dy = other.mean_y_ - mean_y_;
  mean_x_ += dx * more / all;
  mean_y_ += dy * more / all;
  xx_ += other.xx_ + dx * dx * weight;
  xy_ += other.xy_ + dx * dy * weight;
  yy_ += other.yy_ + dy * dy * weight;
  n_ += other.n_;
}

LineFit LineSums::fit() const {
  const double none = sweep::kNotObserved;
  const auto n = static_cast<std::size_t>(n_);
  if (!(xx_ > 0)) return {none, none, none, n};
  const double slope = xy_ / xx_;
  return {slope, mean_y_ - slope * mean_x_, yy_ > 0 ? xy_ * xy_ / (xx_ * yy_) : none, n};
}

}  // namespace analysis
