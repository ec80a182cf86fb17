/* A table of a header that is yet to come. */
#include "workers/policies/plugin/kvsweep_policy.h"

static const kvsweep_policy policy = {.version = KVSWEEP_POLICY_VERSION + 5,
                                      .size = sizeof(kvsweep_policy)};

const kvsweep_policy* kvsweep_policy_table(void) { return &policy; }
