/* First come, first served by turn where policy.plugin_value_1 is 0, by job where it is 1, and in
 * between by a weighted mean of both arrivals. */
#include <stdlib.h>

#include "workers/policies/plugin/kvsweep_policy.h"

static void* create(const kvsweep_setup* setup) {
  double* weight = malloc(sizeof *weight);
  *weight = setup->values[0];
  return weight;
}

static double rank_turn(void* state, const kvsweep_waiting* waiting, int64_t now_ns) {
  const double weight = *(const double*)state;
  (void)now_ns;
  return (1 - weight) * (double)waiting->turn.arrival_ns +
         weight * (double)waiting->turn.job_arrival_ns;
}

static const kvsweep_policy policy = {.version = KVSWEEP_POLICY_VERSION,
                                      .size = sizeof(kvsweep_policy),
                                      .create = create,
                                      .destroy = free,
                                      .rank_turn = rank_turn};

const kvsweep_policy* kvsweep_policy_table(void) { return &policy; }
