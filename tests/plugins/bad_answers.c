/* Answers that the header forbids: a block without a rank, and a victim that does not run. */
#include <math.h>

#include "workers/policies/plugin/kvsweep_policy.h"

static double rank_turn(void* state, const kvsweep_waiting* waiting, int64_t now_ns) {
  (void)state, (void)now_ns;
  return (double)waiting->joined;
}

static uint64_t nobody(void* state, const kvsweep_turn* running, int32_t count) {
  (void)state, (void)running, (void)count;
  return 123456789;
}

static double rank_block(void* state, uint32_t block, int64_t now_ns, int64_t* until_ns) {
  (void)state, (void)block, (void)now_ns, (void)until_ns;
  return NAN;
}

static const kvsweep_order order = {.rank = rank_turn, .choose_victim = nobody};
static const kvsweep_eviction eviction = {.rank = rank_block};
static const kvsweep_policy policy = {KVSWEEP_POLICY_VERSION, &order, &eviction};

const kvsweep_policy* kvsweep_policy_table(void) { return &policy; }
