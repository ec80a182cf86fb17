#include "workers/record/forward_times.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "sweeps/tables/schema.hpp"

namespace worker {
namespace {

using sweep::ForwardKind;

double variation(const std::vector<double>& values) {
  if (values.size() < 2) return sweep::kNotObserved;
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return mean > 0 ? std::sqrt(squares / count) / mean : sweep::kNotObserved;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// Duration of a decode batch by its size.
class DecodeTimes {
 public:
  void add(std::int32_t batch, double seconds) { seen_[batch].push_back(seconds); }
  void close() {
    for (auto& [batch, seconds] : seen_) medians_.emplace(batch, median(seconds));
  }
  /// Duration for the nearest batch size, the smaller one of a tie; 0 without decode-only steps.
  double operator()(std::int32_t batch) const {
    if (medians_.empty()) return 0;
    const auto above = medians_.lower_bound(batch);
    if (above == medians_.begin()) return above->second;
    const auto below = std::prev(above);
    if (above == medians_.end() || batch - below->first <= above->first - batch)
      return above != medians_.end() && above->first == batch ? above->second : below->second;
    return above->second;
  }

 private:
  std::map<std::int32_t, std::vector<double>> seen_;
  std::map<std::int32_t, double> medians_;
};

}  // namespace

ForwardTimes::ForwardTimes(const sweep::Table& steps) {
  const auto &duration = steps.values<double>("dur_s"), &stall = steps.values<double>("stall_s");
  const auto& kinds = steps.values<std::int8_t>("forward");
  const auto& batch = steps.values<std::int32_t>("n_decode");
  std::vector<double> prefills, decodes;
  DecodeTimes alone;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto kind = static_cast<ForwardKind>(kinds[i]);
    const double forward = duration[i] - stall[i];
    count_ += kind == ForwardKind::none ? 0 : 1;
    if (kind == ForwardKind::prefill) prefills.push_back(forward);
    if (kind != ForwardKind::decode) continue;
    decodes.push_back(forward);
    alone.add(batch[i], forward);
  }
  alone.close();
  cv_prefill_ = variation(prefills);
  cv_decode_ = variation(decodes);
  prefill_s_.resize(kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto kind = static_cast<ForwardKind>(kinds[i]);
    if (kind == ForwardKind::none) continue;
    const double forward = duration[i] - stall[i];
    const double decode = kind == ForwardKind::prefill ? 0
                          : kind == ForwardKind::decode
                              ? forward
                              : std::clamp(alone(batch[i]), 0.0, std::max(forward, 0.0));
    prefill_s_[i] = forward - decode;
    sum_prefill_s_ += prefill_s_[i];
    sum_decode_s_ += decode;
  }
}

}  // namespace worker
