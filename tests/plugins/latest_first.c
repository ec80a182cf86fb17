/* An order alone, which looks at the time: ranks are asked for again at each step. */
#include "workers/policies/plugin/kvsweep_policy.h"

/* Turns that have waited for 30 s go first, of the others the one that came last. */
static double rank_turn(void* state, const kvsweep_waiting* waiting, int64_t now_ns) {
  (void)state;
  const int64_t waited = now_ns - waiting->turn.arrival_ns;
  return waiting->again || waited > 30000000000 ? -1e18 : -(double)waiting->joined;
}

static const kvsweep_policy policy = {.version = KVSWEEP_POLICY_VERSION,
                                      .size = sizeof(kvsweep_policy),
                                      .rank_turn = rank_turn,
                                      .rank_each_step = 1};

const kvsweep_policy* kvsweep_policy_table(void) { return &policy; }
