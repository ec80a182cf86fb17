// Programs that are served and programs that are paused, as a plugin decides.
#include <vector>

#include "workers/policies/plugin/factory.hpp"
#include "workers/policies/plugin/plugin.hpp"

namespace policies {
namespace {

using engine::Nanos;

kvsweep_program as_told(const Program& program) {
  static_assert(static_cast<int>(Program::Phase::held) == KVSWEEP_HELD &&
                static_cast<int>(Program::Phase::queued) == KVSWEEP_QUEUED &&
                static_cast<int>(Program::Phase::running) == KVSWEEP_RUNNING &&
                static_cast<int>(Program::Phase::tool) == KVSWEEP_TOOL);
  return {.since_ns = program.since.count(),
          .root = index(program.root),
          .phase = static_cast<std::int32_t>(program.phase),
          .tokens = program.tokens,
          .turns = program.turns,
          .admitted = program.admitted,
          .unused = 0};
}

class PluginAdmission final : public AdmissionRule {
 public:
  explicit PluginAdmission(std::shared_ptr<Plugin> plugin)
      : plugin_(std::move(plugin)), table_(plugin_->table()) {}

  void on_change(Programs programs, Nanos now) override { admit(programs, false, now); }
  Nanos period() const override { return Nanos{table_.admission_period_ns}; }
  void on_timer(Programs programs, Nanos now) override { admit(programs, true, now); }
  void on_end(const Program& program) override {
    const kvsweep_program told = as_told(program);
    plugin_->tell("on_program_end", table_.on_program_end, &told);
  }
  bool may_idle() const override { return table_.admission_may_idle != 0; }

 private:
  void admit(Programs programs, bool timer, Nanos now) {
    told_.clear();
    admitted_.clear();
    for (const Program* program : programs) {
      told_.push_back(as_told(*program));
      admitted_.push_back(program->admitted);
    }
    plugin_->ask("admit", table_.admit, told_.data(), admitted_.data(),
                 static_cast<std::int32_t>(told_.size()), std::int32_t{timer}, now.count());
    for (std::size_t i = 0; i < admitted_.size(); ++i) {
      if (admitted_[i] != 0 && admitted_[i] != 1)
        reject_answer("admits program " + std::to_string(index(programs[i]->root)) + " by " +
                      std::to_string(admitted_[i]) + "; allowed: 0 and 1");
      programs[i]->admitted = admitted_[i] == 1;
    }
  }

  std::shared_ptr<Plugin> plugin_;
  const kvsweep_policy& table_;
  std::vector<kvsweep_program> told_;
  std::vector<std::int32_t> admitted_;
};

}  // namespace

std::unique_ptr<AdmissionRule> make_plugin_admission(std::shared_ptr<Plugin> plugin) {
  plugin->require("admission");
  if (plugin->table().admission_period_ns < 0) reject_answer("has a negative admission_period_ns");
  return std::make_unique<PluginAdmission>(std::move(plugin));
}

}  // namespace policies
