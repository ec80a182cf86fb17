// KV on the GPU, ranked for eviction by a plugin.
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "workers/policies/plugin/factory.hpp"
#include "workers/policies/plugin/plugin.hpp"

namespace policies {
namespace {

using engine::BlockId;
using engine::Nanos;
using engine::Request;

static_assert(Nanos::max().count() == std::numeric_limits<std::int64_t>::max());

class PluginEviction final : public engine::EvictionRule {
 public:
  explicit PluginEviction(std::shared_ptr<Plugin> plugin)
      : plugin_(std::move(plugin)), table_(plugin_->table()) {}

  void prepare(int, int) override {}

  engine::EvictionRank rank(BlockId block, Nanos now) const override {
    std::int64_t until = Nanos::max().count();
    const double value =
        plugin_->ask("rank_block", table_.rank_block, index(block), now.count(), &until);
    if (std::isnan(value)) fail(block, "no number as its rank (NaN)");
    if (until <= now.count())
      fail(block, "a rank until " + std::to_string(until) + " ns, which is not later than now, " +
                      std::to_string(now.count()) + " ns");
    return {value, Nanos{until}};
  }

  void on_registered(const Request& turn, int i) override {
    tell("on_computed", table_.on_computed, turn, i);
  }
  void on_hit(const Request& turn, int i) override { tell("on_hit", table_.on_hit, turn, i); }
  void on_released(const Request& turn, Nanos now) override {
    if (table_.on_released == nullptr) return;
    released_.clear();
    for (const BlockId block : turn.blocks) released_.push_back(index(block));
    const kvsweep_turn told = described(turn);
    const std::int32_t finished = turn.status == engine::RequestStatus::finished;
    plugin_->ask("on_released", table_.on_released, &told, finished, released_.data(),
                 static_cast<std::int32_t>(released_.size()), now.count());
  }
  std::optional<BlockId> on_freed(BlockId block) override {
    plugin_->tell("on_freed", table_.on_freed, index(block));
    return std::nullopt;
  }
  void on_used(BlockId block) override { plugin_->tell("on_used", table_.on_used, index(block)); }
  void on_evicted(BlockId block) override {
    plugin_->tell("on_evicted", table_.on_evicted, index(block));
  }

 private:
  using OfPosition = void (*)(void*, const kvsweep_turn*, std::int32_t, std::uint32_t);

  void tell(const char* name, OfPosition function, const Request& turn, int i) const {
    if (function == nullptr) return;
    const kvsweep_turn told = described(turn);
    plugin_->ask(name, function, &told, i, index(turn.blocks[static_cast<std::size_t>(i)]));
  }
  [[noreturn]] static void fail(BlockId block, const std::string& what) {
    reject_answer("gives block " + std::to_string(index(block)) + ' ' + what);
  }

  std::shared_ptr<Plugin> plugin_;
  const kvsweep_policy& table_;
  std::vector<std::uint32_t> released_;
};

}  // namespace

std::unique_ptr<engine::EvictionRule> make_plugin_eviction(std::shared_ptr<Plugin> plugin) {
  plugin->require("eviction");
  return std::make_unique<PluginEviction>(std::move(plugin));
}

}  // namespace policies
