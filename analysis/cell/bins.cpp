#include "analysis/cell/bins.hpp"

#include <algorithm>
#include <cmath>

#include "sweeps/tables/schema.hpp"

namespace analysis {
namespace {

constexpr int kSingles = 8;              // each number below has its own bin
constexpr double kBinsPerOctave = 4;     // in a histogram
constexpr double kFieldsPerOctave = 12;  // in a grid

int field_of(double value) {
  return value > 0 ? static_cast<int>(std::floor(kFieldsPerOctave * std::log2(value))) : -10'000;
}

/// Calls use(bucket, from, to) for the part of [from, to) in every bucket of [0, end].
template <class Use>
void for_parts(double from, double to, double end, int count, Use use) {
  const double width = end / count;
  const int first = std::clamp(static_cast<int>(from / width), 0, count - 1);
  for (int bucket = first; bucket < count; ++bucket) {
    const double left = bucket * width, right = bucket + 1 == count ? end : left + width;
    if (left >= to) break;
    use(static_cast<std::size_t>(bucket), std::max(from, left), std::min(to, right));
  }
}

}  // namespace

int TokenHistogram::bin_of(std::int64_t tokens) {
  if (tokens < kSingles) return static_cast<int>(std::max<std::int64_t>(tokens, 0));
  const double octaves = std::log2(static_cast<double>(tokens) / kSingles);
  int bin = kSingles + static_cast<int>(kBinsPerOctave * octaves);
  // Edges are rounded up to whole numbers, and logarithms have rounding errors: correct the bin.
  while (first_of(bin) > tokens) --bin;
  while (first_of(bin + 1) <= tokens) ++bin;
  return bin;
}

std::int64_t TokenHistogram::first_of(int bin) {
  if (bin <= kSingles) return bin;
  return static_cast<std::int64_t>(
      std::ceil(kSingles * std::exp2((bin - kSingles) / kBinsPerOctave) - 1e-9));
}

void TokenHistogram::add(const TokenHistogram& other) {
  for (const auto& [bin, count] : other.counts_) counts_[bin] += count;
}

void ThinnedPoints::add(double x, double y) {
  const auto [place, is_new] = fields_.try_emplace({field_of(x), field_of(y)}, Point{x, y, 1});
  if (!is_new) ++place->second.count;
}

void ThinnedPoints::add(const ThinnedPoints& other) {
  for (const auto& [field, point] : other.fields_) {
    const auto [place, is_new] = fields_.try_emplace(field, point);
    if (!is_new) place->second.count += point.count;
  }
}

std::vector<ThinnedPoints::Point> ThinnedPoints::points() const {
  std::vector<Point> all;
  for (const auto& [field, point] : fields_) all.push_back(point);
  return all;
}

TimeBuckets bucket_levels(std::span<const double> start, std::span<const double> value, double end,
                          int count) {
  TimeBuckets buckets;
  if (start.empty() || count <= 0 || !(end > start.front())) return buckets;
  const auto size = static_cast<std::size_t>(count);
  const double none = sweep::kNotObserved;
  buckets.mean.assign(size, 0);
  buckets.min.assign(size, none);
  buckets.max.assign(size, none);
  std::vector<double> covered(size, 0);
  for (std::size_t i = 0; i < start.size(); ++i) {
    const double to = i + 1 < start.size() ? start[i + 1] : end;
    for_parts(start[i], std::min(to, end), end, count,
              [&](std::size_t b, double left, double right) {
                buckets.mean[b] += value[i] * (right - left);
                covered[b] += right - left;
                buckets.min[b] = std::fmin(buckets.min[b], value[i]);
                buckets.max[b] = std::fmax(buckets.max[b], value[i]);
              });
  }
  for (std::size_t b = 0; b < size; ++b)
    buckets.mean[b] = covered[b] > 0 ? buckets.mean[b] / covered[b] : none;
  return buckets;
}

std::vector<double> bucket_rates(std::span<const double> start, std::span<const double> duration,
                                 std::span<const double> amount, double end, int count) {
  if (count <= 0 || !(end > 0)) return {};
  std::vector<double> rates(static_cast<std::size_t>(count), 0);
  const double width = end / count;
  for (std::size_t i = 0; i < start.size(); ++i) {
    if (amount[i] == 0 || std::isnan(amount[i])) continue;
    const double lasts =
        std::max(duration[i], 1e-9);  // an amount without duration falls into one bucket
    for_parts(start[i], start[i] + lasts, end, count,
              [&](std::size_t b, double left, double right) {
                rates[b] += amount[i] * (right - left) / lasts / width;
              });
  }
  return rates;
}

}  // namespace analysis
