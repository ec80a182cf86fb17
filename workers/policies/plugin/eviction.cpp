// KV on the GPU, ranked for eviction by a plugin.
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "workers/engine/base/errors.hpp"
#include "workers/policies/plugin/calls.hpp"
#include "workers/policies/plugin/factory.hpp"
#include "workers/policies/plugin/library.hpp"

namespace policies {
namespace {

using engine::BlockId;
using engine::Nanos;
using engine::Request;

static_assert(Nanos::max().count() == std::numeric_limits<std::int64_t>::max());

class PluginEviction final : public engine::EvictionRule {
 public:
  explicit PluginEviction(const PluginConfig& config)
      : library_(config.path), rules_(library_.eviction()), call_(config.use) {}

  void prepare(int num_blocks, int block_size) override {
    state_.emplace(rules_, kvsweep_setup{num_blocks, block_size});
  }

  engine::EvictionRank rank(BlockId block, Nanos now) const override {
    std::int64_t until = Nanos::max().count();
    const double value = call_(rules_.rank, state(), index(block), now.count(), &until);
    if (std::isnan(value)) fail(block, "no number as its rank (NaN)");
    if (until <= now.count())
      fail(block, "a rank until " + std::to_string(until) + " ns, which is not later than now, " +
                      std::to_string(now.count()) + " ns");
    return {value, Nanos{until}};
  }

  void on_registered(const Request& turn, int i) override { notice(rules_.on_computed, turn, i); }
  void on_hit(const Request& turn, int i) override { notice(rules_.on_hit, turn, i); }
  void on_released(const Request& turn, Nanos now) override {
    if (rules_.on_released == nullptr) return;
    released_.clear();
    for (const BlockId block : turn.blocks) released_.push_back(index(block));
    const kvsweep_turn told = described(turn);
    const std::int32_t finished = turn.status == engine::RequestStatus::finished;
    call_(rules_.on_released, state(), &told, finished, released_.data(),
          static_cast<std::int32_t>(released_.size()), now.count());
  }
  std::optional<BlockId> on_freed(BlockId block) override {
    call_.notice(rules_.on_freed, state(), index(block));
    return std::nullopt;
  }
  void on_used(BlockId block) override { call_.notice(rules_.on_used, state(), index(block)); }
  void on_evicted(BlockId block) override {
    call_.notice(rules_.on_evicted, state(), index(block));
  }

 private:
  using OfPosition = void (*)(void*, const kvsweep_turn*, std::int32_t, std::uint32_t);

  void* state() const { return state_->get(); }
  void notice(OfPosition function, const Request& turn, int i) const {
    if (function == nullptr) return;
    const kvsweep_turn told = described(turn);
    call_(function, state(), &told, i, index(turn.blocks[static_cast<std::size_t>(i)]));
  }
  [[noreturn]] static void fail(BlockId block, const std::string& what) {
    throw engine::InputError("policy.plugin gives block " + std::to_string(index(block)) + ' ' +
                             what);
  }

  PluginLibrary library_;
  const kvsweep_eviction& rules_;
  PluginCalls call_;
  std::optional<PluginState<kvsweep_eviction>> state_;
  std::vector<std::uint32_t> released_;
};

}  // namespace

std::unique_ptr<engine::EvictionRule> make_plugin_eviction(const PluginConfig& config) {
  return std::make_unique<PluginEviction>(config);
}

}  // namespace policies
