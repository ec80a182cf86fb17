// Retention of KV while a tool runs, as a plugin decides.
#include <limits>

#include "workers/policies/plugin/factory.hpp"
#include "workers/policies/plugin/plugin.hpp"

namespace policies {
namespace {

using engine::GapDecision;
using engine::KvReason;
using engine::Nanos;
using engine::Request;

std::string name_of(const Request& turn) {
  return "turn " + std::to_string(turn.spec.turn) + " of job " +
         std::to_string(index(turn.spec.job));
}

KvReason reason_of(std::int32_t reason, const Request& turn) {
  constexpr KvReason kReasons[] = {
      KvReason::none,    KvReason::known_tool, KvReason::unseen_tool, KvReason::slow_tool,
      KvReason::no_tool, KvReason::last_turn,  KvReason::cold_start,  KvReason::utility,
      KvReason::rent,    KvReason::waste};
  static_assert(std::size(kReasons) == KVSWEEP_WASTE + 1);
  if (reason < 0 || reason > KVSWEEP_WASTE)
    reject_answer("gives reason " + std::to_string(reason) + " for " + name_of(turn) +
                  "; allowed: 0 to " + std::to_string(KVSWEEP_WASTE));
  return kReasons[reason];
}

/// When a pin of the turn's KV ends.
Nanos deadline_of(std::int64_t ttl, const Request& turn, Nanos now) {
  if (ttl < 1 || ttl > std::numeric_limits<std::int64_t>::max() - now.count())
    reject_answer("gives a pin of " + name_of(turn) + " a time to live of " + std::to_string(ttl) +
                  " ns; allowed: 1 or more");
  return now + Nanos{ttl};
}

class PluginRetention final : public engine::RetentionPolicy {
 public:
  PluginRetention(std::shared_ptr<Plugin> plugin, const engine::PinRules& pins)
      : plugin_(std::move(plugin)), pins_(pins) {}

  engine::PinRules pin_rules() const override { return pins_; }
  void on_arrival(const Request& request) override { plugin_->arrived(request); }
  GapDecision on_turn_finish(const Request& request, Nanos now) override {
    plugin_->ended(request, now);
    const kvsweep_turn turn = described(request);
    kvsweep_gap gap{};
    plugin_->ask("retain", plugin_->table().retain, &turn, &gap, now.count());
    const KvReason reason = reason_of(gap.reason, request);
    if (gap.action == KVSWEEP_PIN) return {true, reason, deadline_of(gap.ttl_ns, request, now)};
    if (gap.action != KVSWEEP_FREE && gap.action != KVSWEEP_SWAP)
      reject_answer("does action " + std::to_string(gap.action) + " with the KV of " +
                    name_of(request) + "; allowed: 0 to " + std::to_string(KVSWEEP_SWAP));
    return {.reason = reason, .swap = gap.action == KVSWEEP_SWAP};
  }

 private:
  std::shared_ptr<Plugin> plugin_;
  engine::PinRules pins_;
};

class Telling final : public engine::RetentionPolicy {
 public:
  Telling(std::shared_ptr<Plugin> plugin, std::unique_ptr<engine::RetentionPolicy> retention)
      : plugin_(std::move(plugin)), retention_(std::move(retention)) {}

  engine::PinRules pin_rules() const override { return retention_->pin_rules(); }
  void on_arrival(const Request& request) override {
    plugin_->arrived(request);
    retention_->on_arrival(request);
  }
  GapDecision on_turn_finish(const Request& request, Nanos now) override {
    plugin_->ended(request, now);
    return retention_->on_turn_finish(request, now);
  }

 private:
  std::shared_ptr<Plugin> plugin_;
  std::unique_ptr<engine::RetentionPolicy> retention_;
};

}  // namespace

std::unique_ptr<engine::RetentionPolicy> make_plugin_retention(std::shared_ptr<Plugin> plugin,
                                                               const engine::PinRules& pins) {
  plugin->require("retention");
  return std::make_unique<PluginRetention>(std::move(plugin), pins);
}

std::unique_ptr<engine::RetentionPolicy> telling_plugin(
    std::shared_ptr<Plugin> plugin, std::unique_ptr<engine::RetentionPolicy> retention) {
  return std::make_unique<Telling>(std::move(plugin), std::move(retention));
}

}  // namespace policies
