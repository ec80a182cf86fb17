/* A table of a header that is yet to come. */
#include "workers/policies/plugin/kvsweep_policy.h"

static const kvsweep_policy policy = {KVSWEEP_POLICY_VERSION + 6, 0, 0};

const kvsweep_policy* kvsweep_policy_table(void) { return &policy; }
