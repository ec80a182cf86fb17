#include "workers/backends/clock_tie.hpp"

#include <algorithm>

namespace backends {

using engine::Nanos;

void ClockTie::add(std::uint64_t device_ns, Nanos host) {
  if (!ties_.empty() && device_ns <= ties_.back().device) return;  // no later than the last tie
  ties_.push_back({device_ns, host});
}

Nanos ClockTie::on_line(const Tie& a, const Tie& b, std::uint64_t device_ns) {
  // Differences fit into doubles; the times themselves do not.
  const auto passed = static_cast<double>(static_cast<std::int64_t>(device_ns - a.device));
  const double slope =
      static_cast<double>((b.host - a.host).count()) / static_cast<double>(b.device - a.device);
  return a.host + Nanos{std::llround(passed * slope)};
}

Nanos ClockTie::to_host(std::uint64_t device_ns) const {
  if (ties_.size() == 1)
    return ties_[0].host + Nanos{static_cast<std::int64_t>(device_ns - ties_[0].device)};
  auto next = std::ranges::upper_bound(ties_, device_ns, {}, &Tie::device);
  next = std::clamp(next, ties_.begin() + 1, ties_.end() - 1);
  return on_line(*(next - 1), *next, device_ns);
}

Nanos ClockTie::residual() const {
  Nanos worst{0};
  for (std::size_t i = 1; i + 1 < ties_.size(); ++i) {
    const Nanos distance = ties_[i].host - on_line(ties_[i - 1], ties_[i + 1], ties_[i].device);
    worst = std::max(worst, distance < Nanos{0} ? -distance : distance);
  }
  return worst;
}

}  // namespace backends
