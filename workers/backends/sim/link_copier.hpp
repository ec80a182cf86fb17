#pragma once
#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "workers/backends/sim/gpu_profile.hpp"
#include "workers/engine/step/block_copier.hpp"

namespace backends {

/// The link between host memory and one GPU.
struct LinkModel {
  double load_gb_s = 0;      // host to device, alone; GB/s = 10^9 bytes/s
  double store_gb_s = 0;     // device to host, alone
  double duplex_factor = 1;  // share of its rate that each direction keeps while the other is busy
  bool infinite = false;     // copies take no time
  std::int64_t bytes_per_block = 0;
  bool duplex = true;   // false: a batch waits for the batches of the other direction
  double block_us = 0;  // time per block beyond its bytes: the launches of its copies
};

enum class LinkMemory : std::uint8_t { pinned, pageable };

/// The link between a card and host memory of this kind.
LinkModel link_model(const LinkRates& rates, LinkMemory memory, std::int64_t bytes_per_block);

/// Copies nothing: a batch completes when a link of these rates would have copied it. Each
/// direction serves one batch at a time, in order. While both are busy, each runs at duplex_factor
/// times its rate or, without duplex, batches run one at a time in order of submission. Exact on
/// the virtual clock: completions do not depend on when they are polled.
class LinkCopier final : public engine::BlockCopier {
 public:
  /// Throws std::invalid_argument when a rate, the factor or the size of a block is not positive.
  explicit LinkCopier(const LinkModel& link);

  engine::CopyId submit(engine::CopyDirection direction, std::span<const engine::BlockCopy> copies,
                        engine::Nanos now) override;
  void poll(engine::Nanos now, std::vector<engine::CopyDone>& done) override;
  std::optional<engine::Nanos> next_completion() const override;
  bool withdraw(engine::CopyId id, engine::Nanos now) override;
  void wait() override {}
  /// Blocks of all loads that were submitted.
  std::int64_t loaded_blocks() const { return loaded_blocks_; }

 private:
  struct Batch {
    engine::CopyId id;
    double work_ns;  // remaining work, in nanoseconds of a direction that runs alone
    double begun_ns = -1;
  };
  using Direction = std::deque<Batch>;

  double speed_of(std::size_t direction) const;
  void begin_heads();
  /// When the head of the direction will complete if nothing else is submitted; infinity when the
  /// direction is idle.
  double head_completion_ns(std::size_t direction) const;
  void run_until(double ns);
  void work(double until_ns);

  LinkModel link_;
  std::array<Direction, 2> directions_;  // by CopyDirection
  std::vector<engine::CopyDone> through_;
  double now_ns_ = 0;  // the link has been simulated up to this time
  std::uint64_t num_submitted_ = 0;
  std::int64_t loaded_blocks_ = 0;
};

}  // namespace backends
