/* The order job_fcfs: turns of jobs with pinned KV, then all others, each by the arrival of the
 * job; preempted is the turn that was admitted last of a job without a pin. */
#include "workers/policies/plugin/kvsweep_policy.h"

static double rank_turn(void* state, const kvsweep_waiting* waiting, int64_t now_ns) {
  (void)state, (void)now_ns;
  const double arrival = (double)waiting->turn.job_arrival_ns;
  return waiting->turn.pinned ? arrival - 1e15 : arrival; /* a cell is shorter than eleven days */
}

static uint64_t last_unpinned(void* state, const kvsweep_turn* running, int32_t count) {
  (void)state;
  for (int32_t i = count - 1; i >= 0; --i)
    if (!running[i].pinned) return running[i].id;
  return running[count - 1].id;
}

static const kvsweep_policy policy = {.version = KVSWEEP_POLICY_VERSION,
                                      .size = sizeof(kvsweep_policy),
                                      .rank_turn = rank_turn,
                                      .choose_victim = last_unpinned};

const kvsweep_policy* kvsweep_policy_table(void) { return &policy; }
