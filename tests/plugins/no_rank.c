/* A turn without a rank, and ranks of blocks that have ended already. */
#include <math.h>

#include "workers/policies/plugin/kvsweep_policy.h"

static double rank_turn(void* state, const kvsweep_waiting* waiting, int64_t now_ns) {
  (void)state, (void)now_ns;
  return waiting->turn.number == 2 ? NAN : 0;
}

static double rank_block(void* state, uint32_t block, int64_t now_ns, int64_t* until_ns) {
  (void)state, (void)block;
  *until_ns = now_ns;
  return 0;
}

static const kvsweep_policy policy = {.version = KVSWEEP_POLICY_VERSION,
                                      .size = sizeof(kvsweep_policy),
                                      .rank_turn = rank_turn,
                                      .rank_block = rank_block};

const kvsweep_policy* kvsweep_policy_table(void) { return &policy; }
