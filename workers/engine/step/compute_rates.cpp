#include "workers/engine/step/compute_rates.hpp"

#include <algorithm>
#include <numeric>

namespace engine {
namespace {

constexpr double kFade = 0.98;  // factor on old points at each new one: about 50 points count

}  // namespace

void FadingLine::add(double x, double y) {
  for (double* sum : {&weight_, &x_, &y_, &xx_, &xy_}) *sum *= kFade;
  weight_ += 1;
  x_ += x;
  y_ += y;
  xx_ += x * x;
  xy_ += x * y;
}

double FadingLine::at(double x) const {
  if (!known() || x_ <= 0) return 0;
  const double spread = weight_ * xx_ - x_ * x_;
  const double slope = (weight_ * xy_ - x_ * y_) / spread;
  // Points at nearly the same x do not determine a slope.
  if (!(spread > 1e-9 * weight_ * xx_) || slope <= 0) return y_ / x_ * x;
  return std::max(0.0, (y_ - slope * x_) / weight_ + slope * x);
}

void ComputeRates::computed(std::span<const int> prompts, int decodes, Nanos took) {
  const double step_s = to_seconds(took);
  if (prompts.empty()) {
    decode_s_ = decode_s_ > 0 ? kFade * decode_s_ + (1 - kFade) * step_s : step_s;
    return;
  }
  // Without the duration of decodes alone, the prompts' share is unknown.
  if (decodes > 0 && decode_s_ == 0 && prompts_.known()) return;
  const double prompts_s = std::max(0.0, decodes > 0 ? step_s - decode_s_ : step_s);
  const int tokens = std::accumulate(prompts.begin(), prompts.end(), 0);
  for (const int own : prompts) prompts_.add(own, prompts_s * own / tokens);
}

void ComputeRates::computed(const StepPlan& plan, Nanos took) {
  if (plan.scheduled.empty()) return;
  in_step_.clear();
  for (const ScheduledRequest& share : plan.scheduled)
    if (!share.decode) in_step_.push_back(share.num_tokens);
  computed(in_step_, static_cast<int>(plan.scheduled.size() - in_step_.size()), took);
}

}  // namespace engine
