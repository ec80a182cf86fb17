// Pauses programs while their tools run, where the contexts exceed the pool, and resumes the
// smallest first where there is room (ThunderAgent, arXiv:2602.13692, as published on 2026-03-06).
// Running programs to be paused next are marked, and each mark counts as room, where the
// published code marks all of them.
#include <algorithm>
#include <tuple>
#include <vector>

#include "workers/policies/admission/config.hpp"

namespace policies {
namespace {

using engine::Nanos;

constexpr int kMargin = 100;  // tokens that a program grows by before it is looked at again
constexpr Nanos kLongestWait{std::chrono::seconds{1800}};

constexpr Parameter kPeriod = {
    .name = "admission_period_s",
    .least = 0,
    .most = 1e6,
    .fallback = 5,
    .unit = "s",
    .says =
        "Time between two decisions about which programs are paused and resumed; 0: whenever a "
        "turn arrives or ends."};

class Thunder final : public AdmissionRule {
 public:
  explicit Thunder(const AdmissionConfig& config)
      : pool_(config.pool_tokens),
        period_(engine::from_seconds(value_of(kPeriod, config.parameters))) {}

  Nanos period() const override { return period_; }
  void on_change(Programs programs, Nanos now) override {
    if (period_ == Nanos{0}) {
      balance(programs, now);
    } else {
      start(programs);
    }
  }
  void on_timer(Programs programs, Nanos now) override { balance(programs, now); }

 private:
  static int need(const Program& program) { return program.tokens + kMargin; }
  static bool smaller(const Program* a, const Program* b) {
    return std::tuple(a->tokens, index(a->root)) < std::tuple(b->tokens, index(b->root));
  }

  /// Tokens of the admitted programs and, unless `marked_go`, of those to be paused next.
  static std::int64_t used(Programs programs, bool marked_go) {
    std::int64_t tokens = 0;
    for (const Program* p : programs)
      if (p->admitted || (p->in_engine() && !marked_go)) tokens += need(*p);
    return tokens;
  }

  /// A new program begins at once where it fits and no other is paused.
  void start(Programs programs) const {
    const auto paused = [](const Program* p) {
      return !p->admitted && !p->in_engine() && !(p->held() && p->turns == 1);
    };
    if (std::ranges::any_of(programs, paused)) return;
    std::int64_t free = pool_ - used(programs, false);
    for (Program* p : programs) {
      if (!p->held() || need(*p) > free) return;
      p->admitted = true;
      free -= need(*p);
    }
  }

  void balance(Programs programs, Nanos now) const {
    for (Program* p : programs)
      if (p->held() && now - p->since >= kLongestWait) p->admitted = true;
    resume(programs);
    std::int64_t over = used(programs, true) - pool_;
    for (const bool in_tool : {true, false}) pause(programs, in_tool, over);
  }

  /// Programs that wait for their next turn, then new ones, then those in their tool; the smallest
  /// of each first, and every one that still fits.
  void resume(Programs programs) const {
    std::int64_t free = pool_ - used(programs, false);
    if (free <= kMargin) return;
    const auto group = [](const Program* p) { return !p->held() ? 2 : p->turns == 1 ? 1 : 0; };
    std::vector<Program*> paused;
    for (Program* p : programs)
      if (!p->admitted && !p->in_engine()) paused.push_back(p);
    std::ranges::sort(paused, [&](const Program* a, const Program* b) {
      return group(a) != group(b) ? group(a) < group(b) : smaller(a, b);
    });
    for (Program* p : paused) {
      if (need(*p) > free) continue;
      p->admitted = true;
      free -= need(*p);
    }
  }

  /// The smallest in its tool, or in the engine, until the others fit.
  static void pause(Programs programs, bool in_tool, std::int64_t& over) {
    std::vector<Program*> admitted;
    for (Program* p : programs)
      if (p->admitted && !p->held() && p->in_engine() != in_tool) admitted.push_back(p);
    std::ranges::sort(admitted, smaller);
    for (Program* p : admitted) {
      if (over <= 0) return;
      p->admitted = false;
      over -= need(*p);
    }
  }

  int pool_;
  Nanos period_;
};

}  // namespace

AdmissionEntry thunder_admission() {
  return {"thunder", AdmissionEntry::makes<Thunder>, {kPeriod, kSharedPrefixes}};
}

}  // namespace policies
