/* Ranks turns as they come, and answers what is no rank where the working folder has a file "fail". */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <unistd.h>

#include "workers/policies/plugin/kvsweep_policy.h"

static double rank_turn(void* state, const kvsweep_waiting* waiting, int64_t now_ns) {
  (void)state, (void)now_ns;
  return access("fail", F_OK) == 0 ? NAN : (double)waiting->joined;
}

static const kvsweep_policy policy = {
    .version = KVSWEEP_POLICY_VERSION, .size = sizeof(kvsweep_policy), .rank_turn = rank_turn};

const kvsweep_policy* kvsweep_policy_table(void) { return &policy; }
