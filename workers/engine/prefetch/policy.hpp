#pragma once
#include "workers/engine/base/request.hpp"

namespace engine {

/// The KV of a job's next turn, and the cost of having it on the GPU in time.
struct AwaitedKv {
  int context_tokens = 0;
  int missing_tokens = 0;  // of these, the last ones, which are not on the GPU
  Nanos until_use{0};      // from now until the turn is served
  Nanos held{0};           // time that the load and its result occupy blocks before that
  Nanos load_time{0};      // of the missing tokens on an idle link
  Nanos late{0};           // time by which the KV would be late
  int loads_delayed = 0;   // other loads that would wait for this one
};

/// Current scarcity of memory.
struct Scarcity {
  /// Delay to other requests, in request-seconds, for each token of GPU memory that is kept for one
  /// second: the requests that wait for GPU memory, divided by the tokens that they want. 0 when
  /// none waits.
  double vram_price = 0;
  /// The price of the host tier: what its least valuable content saves.
  double dram_price = 0;
  int running = 0;  // running requests, which wait during any recomputation
};

/// When the KV of a job without a running turn is loaded.
enum class LoadTime : std::uint8_t {
  on_demand,  // when its turn is served
  in_time,    // as late as it can be there before the turn is expected to be served
  with_room,  // as soon as there is room; until its turn has arrived it may be evicted again
};

/// Says when jobs return and what their KV is worth. The engine asks it, and decides when copies
/// run and which blocks are evicted.
class PrefetchPolicy {
 public:
  virtual ~PrefetchPolicy() = default;
  /// A turn has arrived: the job's tool, if one ran, has finished.
  virtual void on_arrival(const Request& request) = 0;
  /// The turn has finished, another follows, and its tool starts.
  virtual void on_turn_finish(const Request& request, Nanos now) = 0;
  /// The time by which the job's next turn arrives with this probability, in (0, 1), given that it
  /// has not arrived by `now`. Never earlier than `now`.
  virtual Nanos returns_by(JobId job, double probability, Nanos now) const = 0;
  /// When to load for a job whose tool runs, or whose next turn has arrived and waits.
  virtual LoadTime load_time(JobId job, bool arrived) const = 0;
  /// Seconds to recompute the last `missing_tokens` tokens of a context of `context_tokens`.
  virtual double recompute_s(int context_tokens, int missing_tokens) const = 0;
  /// Request-seconds of delay saved by having the KV on the GPU. Loading does not pay at 0 or less.
  virtual double score(const AwaitedKv& kv, const Scarcity& scarcity) const = 0;
  /// Whether the host tier keeps the KV that saves most per token and second, instead of the most
  /// recently used.
  virtual bool ranks_host_tier() const = 0;
};

}  // namespace engine
