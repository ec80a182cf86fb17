/* Ends its process when the second turn of a job joins the queue. */
#include <signal.h>

#include "workers/policies/plugin/kvsweep_policy.h"

static double rank_turn(void* state, const kvsweep_waiting* waiting, int64_t now_ns) {
  (void)state, (void)now_ns;
  if (waiting->turn.number == 1) raise(SIGSEGV);
  return (double)waiting->joined;
}

static const kvsweep_policy policy = {
    .version = KVSWEEP_POLICY_VERSION, .size = sizeof(kvsweep_policy), .rank_turn = rank_turn};

const kvsweep_policy* kvsweep_policy_table(void) { return &policy; }
