// What leaves the host tier first, as a plugin decides.
#include <algorithm>
#include <vector>

#include "workers/policies/plugin/factory.hpp"
#include "workers/policies/plugin/plugin.hpp"

namespace policies {
namespace {

using engine::BlockHash;
using engine::HostSlot;
using engine::Nanos;
using engine::Request;

class PluginHostEviction final : public engine::HostEviction {
 public:
  explicit PluginHostEviction(std::shared_ptr<Plugin> plugin)
      : plugin_(std::move(plugin)), table_(plugin_->table()) {}

  void prepare(int num_slots, int slot_blocks, int block_size) override {
    within_reach_.assign(static_cast<std::size_t>(num_slots), false);
    slot_blocks_ = slot_blocks;
    slot_tokens_ = slot_blocks * block_size;
    plugin_->tell("on_host_pool", table_.on_host_pool, num_slots, slot_blocks);
  }
  std::optional<HostSlot> victim(Nanos now) override {
    const std::uint32_t slot = plugin_->ask("host_victim", table_.host_victim, now.count());
    if (slot == KVSWEEP_LEAST_RECENT) return std::nullopt;
    if (slot >= within_reach_.size() || !within_reach_[slot])
      reject_answer("evicts host slot " + std::to_string(slot) + ", which is none of the " +
                    std::to_string(std::ranges::count(within_reach_, true)) + " within reach");
    return HostSlot{slot};
  }

  void on_stored(HostSlot slot, const BlockHash& content) override {
    within_reach_[index(slot)] = true;
    plugin_->tell("on_host_stored", table_.on_host_stored, index(slot), content.low);
  }
  void on_evicted(HostSlot slot) override { gone(slot, false); }
  void on_invalid(HostSlot slot) override { gone(slot, true); }
  void on_held(HostSlot slot) override { hold(slot, true); }
  void on_released(HostSlot slot) override { hold(slot, false); }

  void on_arrival(const Request& turn) override { plugin_->arrived(turn); }
  void on_lookup(const Request& turn) override {
    tell_contents(turn, turn.num_prompt() / slot_tokens_, false);
  }
  void on_computed(const Request& turn, int blocks) override {
    tell_contents(turn, blocks / slot_blocks_, true);
  }
  void on_turn_finish(const Request& turn, Nanos now) override { plugin_->ended(turn, now); }

 private:
  void gone(HostSlot slot, bool invalid) {
    within_reach_[index(slot)] = false;
    plugin_->tell("on_host_gone", table_.on_host_gone, index(slot), std::int32_t{invalid});
  }
  void hold(HostSlot slot, bool held) {
    within_reach_[index(slot)] = !held;
    plugin_->tell("on_host_held", table_.on_host_held, index(slot), std::int32_t{held});
  }
  void tell_contents(const Request& turn, int slots, bool computed) {
    if (table_.on_host_turn == nullptr) return;
    contents_.clear();
    for (int i = 1; i <= slots; ++i) contents_.push_back(turn.block_hash(i * slot_blocks_ - 1).low);
    const kvsweep_turn told = described(turn);
    plugin_->ask("on_host_turn", table_.on_host_turn, &told, contents_.data(), slots,
                 std::int32_t{computed});
  }

  std::shared_ptr<Plugin> plugin_;
  const kvsweep_policy& table_;
  int slot_blocks_ = 1, slot_tokens_ = 1;
  std::vector<bool> within_reach_;  // by slot
  std::vector<std::uint64_t> contents_;
};

}  // namespace

std::unique_ptr<engine::HostEviction> make_plugin_host_eviction(std::shared_ptr<Plugin> plugin) {
  plugin->require("host_eviction");
  return std::make_unique<PluginHostEviction>(std::move(plugin));
}

}  // namespace policies
