/* Answers that the header forbids, one for each decision. */
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

static void admit(void* state, const kvsweep_program* programs, int32_t* admitted, int32_t count,
                  int32_t timer, int64_t now_ns) {
  (void)state, (void)programs, (void)timer, (void)now_ns;
  for (int32_t i = 0; i < count; ++i) admitted[i] = 3;
}

static void retain(void* state, const kvsweep_turn* turn, kvsweep_gap* gap, int64_t now_ns) {
  (void)state, (void)turn, (void)now_ns;
  gap->action = 7;
}

static const kvsweep_policy policy = {.version = KVSWEEP_POLICY_VERSION,
                                      .size = sizeof(kvsweep_policy),
                                      .rank_turn = rank_turn,
                                      .choose_victim = nobody,
                                      .admit = admit,
                                      .retain = retain,
                                      .rank_block = rank_block};

const kvsweep_policy* kvsweep_policy_table(void) { return &policy; }
