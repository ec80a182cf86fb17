#pragma once
#include "workers/engine/request.hpp"

namespace engine {

/// KV that a job's next turn will want, and what it takes to have it on the GPU by then.
struct AwaitedKv {
  int context_tokens = 0;
  int missing_tokens = 0;  // the last of these, which the GPU does not have
  Nanos until_use{0};      // from now until the turn is served
  Nanos held{0};           // as long the load and its result occupy blocks before that
  Nanos load_time{0};      // of the missing tokens on an idle link
  Nanos late{0};           // by which they would come too late
  int loads_delayed = 0;   // loads of others that would wait for this one
};

/// What is scarce at the moment.
struct Scarcity {
  /// Requests that wait for GPU memory, by the tokens that they want: delay of others, in
  /// request-seconds, for each token and second that memory is kept. 0 when none waits for it.
  double vram_price = 0;
  /// The same for host memory: what its least valuable content saves.
  double dram_price = 0;
  int running = 0;  // requests that wait whenever something is computed again
};

/// Knows when jobs return and what their KV is worth. The engine asks it, and decides when copies
/// run and which blocks are evicted.
class PrefetchPolicy {
 public:
  virtual ~PrefetchPolicy() = default;
  /// A turn has arrived: the job's tool, if one ran, is through.
  virtual void on_arrival(const Request& request) = 0;
  /// The turn is over, another follows, and its tool starts.
  virtual void on_turn_finish(const Request& request, Nanos now) = 0;

  /// Whether there is anything to go by. Otherwise nothing of the job is loaded before it is asked
  /// for.
  virtual bool foretells(JobId job) const = 0;
  /// The instant by which the job's next turn arrives with this probability, in (0, 1), given that
  /// it has not arrived by `now`. Never before `now`.
  virtual Nanos returns_by(JobId job, double probability, Nanos now) const = 0;

  /// Seconds to compute the last `missing` tokens of a context of so many.
  virtual double recompute_s(int context_tokens, int missing_tokens) const = 0;
  /// Request-seconds of delay that are saved by having the KV there. At most 0: better not.
  virtual double score(const AwaitedKv& kv, const Scarcity& scarcity) const = 0;
  /// Host memory goes to what saves most by token and second, not to what was used last.
  virtual bool ranks_host_memory() const = 0;
};

}  // namespace engine
