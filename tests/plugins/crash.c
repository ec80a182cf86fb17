/* Ends its process when the second turn of a job joins the queue. */
#include <signal.h>

#include "workers/policies/plugin/kvsweep_policy.h"

static double rank_turn(void* state, const kvsweep_waiting* waiting, int64_t now_ns) {
  (void)state, (void)now_ns;
  if (waiting->turn.number == 1) raise(SIGSEGV);
  return (double)waiting->joined;
}

static const kvsweep_order order = {.rank = rank_turn};
static const kvsweep_policy policy = {KVSWEEP_POLICY_VERSION, &order, 0};

const kvsweep_policy* kvsweep_policy_table(void) { return &policy; }
