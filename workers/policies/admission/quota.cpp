// A share of the pool for first turns and the rest for turns of programs under way: a turn
// beyond its class's share waits for one that is within (Tokencake's reserved part,
// arXiv:2510.18586, with these two classes). Every turn is admitted anew, as far as the pool has
// room for its prompt.
#include <array>

#include "workers/policies/admission/config.hpp"

namespace policies {
namespace {

constexpr Parameter kFirstTurnsShare = {
    .name = "first_turns_share",
    .least = 0,
    .most = 1,
    .fallback = 0.3,
    .says =
        "Share of the pool for first turns; the rest is for all other turns. One may have more "
        "while none of the other waits."};

class Quota final : public AdmissionRule {
 public:
  explicit Quota(const AdmissionConfig& config) : pool_(config.pool_tokens) {
    const double first_turns = value_of(kFirstTurnsShare, config.parameters);
    most_ = {first_turns * pool_, (1 - first_turns) * pool_};
  }

  void on_change(Programs programs, engine::Nanos) override {
    std::array<double, 2> used{};
    for (Program* p : programs) {
      p->admitted = false;
      if (p->in_engine()) used[class_of(*p)] += p->tokens;
    }
    while (Program* next = choose(programs, used)) {
      if (used[0] + used[1] + next->tokens > pool_) return;
      next->admitted = true;
      used[class_of(*next)] += next->tokens;
    }
  }

 private:
  static std::size_t class_of(const Program& program) { return program.turns == 1 ? 0 : 1; }

  /// The first that is held, unless its class would exceed its share and the other would not.
  Program* choose(Programs programs, const std::array<double, 2>& used) const {
    std::array<Program*, 2> first{};
    Program* next = nullptr;
    for (Program* p : programs) {
      if (!p->held() || p->admitted) continue;
      if (next == nullptr) next = p;
      if (first[class_of(*p)] == nullptr) first[class_of(*p)] = p;
    }
    if (next == nullptr) return nullptr;
    const auto is_over = [&](const Program& p) {
      return used[class_of(p)] + p.tokens > most_[class_of(p)];
    };
    Program* other = first[1 - class_of(*next)];
    return is_over(*next) && other != nullptr && !is_over(*other) ? other : next;
  }

  double pool_;
  std::array<double, 2> most_;  // tokens by class: first turns, and all others
};

}  // namespace

AdmissionEntry quota_admission() {
  return {"quota", AdmissionEntry::makes<Quota>, {kFirstTurnsShare}};
}

}  // namespace policies
