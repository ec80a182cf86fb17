// Admits programs, in the order of service, as long as the contexts that are expected of them fit
// a share of the pool (the working sets of Denning, 1968). Where contexts have outgrown the pool,
// the program that came last is paused while its tool runs. The context that is expected of a
// program is that after one more turn (horizon one_turn), the mean at the end of programs
// (mean_end), or the last one of its own as the client says it (hint; one_turn where it says
// nothing). A program which has been held back before its first turn for first_wait_s is a guest:
// that turn enters the queue whatever the room, at the next change or look at the clock, and the
// program then waits like the others.
#include <algorithm>
#include <ranges>
#include <set>

#include "workers/policies/admission/config.hpp"

namespace policies {
namespace {

using engine::Nanos;

constexpr Parameter kPoolShare = {.name = "pool_share",
                                  .least = 0,
                                  .most = 1e6,
                                  .fallback = 0.9,
                                  .says = "Share of the pool that the expected contexts may fill."};
constexpr const char* kHorizons[] = {"one_turn", "mean_end", "hint"};
constexpr Parameter kHorizon = {
    .name = "horizon",
    .words = kHorizons,
    .says =
        "The context that is expected of a program: after one more turn, the mean of "
        "programs that have ended, or its own last one as the client says it (hint)."};

constexpr Parameter kFirstWait = {.name = "first_wait_s",
                                  .least = 0,
                                  .most = 1e6,
                                  .fallback = 1e6,
                                  .is_neutral = true,
                                  .unit = "s",
                                  .says =
                                      "Admission holds a first turn back for at most this long, "
                                      "0.1 s and a step, whatever the room; then "
                                      "it waits for blocks like any other."};
constexpr Nanos kLook{std::chrono::milliseconds{100}};  // between two looks at the clock

class WorkingSet final : public AdmissionRule {
 public:
  explicit WorkingSet(const AdmissionConfig& config)
      : config_(config),
        share_(value_of(kPoolShare, config.parameters)),
        first_wait_(engine::from_seconds(value_of(kFirstWait, config.parameters))),
        told_(word_of(kHorizon, config.parameters) == "hint"),
        mean_end_(word_of(kHorizon, config.parameters) == "mean_end") {
    if (told_ && !config.last_context)
      throw engine::InputError("policy.horizon \"hint\" needs the length of each job");
  }

  void on_change(Programs programs, Nanos now) override {
    for (Program* p : programs)
      if (guests_.erase(p->root) > 0) p->admitted = false;  // its turn stays in the engine
    admit_in_order(programs);
    admit_guests(programs, now);
    pause_last(programs);
  }
  Nanos period() const override {
    return first_wait_ < engine::from_seconds(kFirstWait.fallback) ? kLook : Nanos{0};
  }
  void on_timer(Programs programs, Nanos now) override { admit_guests(programs, now); }

  void on_end(const Program& program) override {
    ++ended_;
    ended_tokens_ += program.tokens;
    ended_turns_ += program.turns;
  }

 private:
  /// Admits programs in order until one does not fit.
  void admit_in_order(Programs programs) const {
    const double growth = growth_per_turn(programs);
    double expected = 0;
    for (const Program* p : programs)
      if (p->admitted || p->in_engine()) expected += need(*p, growth);
    for (Program* p : programs) {
      if (!p->held() || expected + need(*p, growth) > share_ * config_.pool_tokens) return;
      p->admitted = true;
      expected += need(*p, growth);
    }
  }

  void admit_guests(Programs programs, Nanos now) {
    for (Program* p : programs) {
      if (!p->held() || p->admitted || p->turns > 1 || now - p->since < first_wait_) continue;
      p->admitted = true;
      guests_.insert(p->root);
    }
  }

  double need(const Program& program, double growth) const {
    if (told_) {
      const int told = config_.last_context(program.root);
      if (told > 0) return std::max(program.tokens, told - program.common);
    }
    if (mean_end_ && ended_ > 0) return std::max<double>(program.tokens, ended_tokens_ / ended_);
    return program.tokens + growth;
  }

  /// Mean tokens of all programs by their turns.
  double growth_per_turn(Programs programs) const {
    double tokens = ended_tokens_, turns = ended_turns_;
    for (const Program* p : programs) {
      tokens += p->tokens;
      turns += p->turns;
    }
    return turns == 0 ? 0 : tokens / turns;
  }

  void pause_last(Programs programs) const {
    std::int64_t tokens = 0;
    for (const Program* p : programs)
      if (p->admitted || p->in_engine()) tokens += p->tokens;
    for (Program* p : std::views::reverse(programs)) {
      if (tokens <= config_.pool_tokens) return;
      if (!p->admitted || p->phase != Program::Phase::tool) continue;
      p->admitted = false;
      tokens -= p->tokens;
    }
  }

  AdmissionConfig config_;
  double share_;  // of the pool, for contexts as they are expected
  Nanos first_wait_;
  std::set<engine::JobId> guests_;  // until the next decision
  bool told_, mean_end_;            // what is expected
  double ended_ = 0, ended_tokens_ = 0, ended_turns_ = 0;
};

}  // namespace

AdmissionEntry working_set_admission() {
  return {"working_set",
          AdmissionEntry::makes<WorkingSet>,
          {kPoolShare, kHorizon, kFirstWait, kSharedPrefixes}};
}

}  // namespace policies
