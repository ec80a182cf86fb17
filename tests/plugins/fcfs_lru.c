/* What the program does by itself: turns as they come, preempted ones before all others, and the
 * block that was released first leaves first. */
#include <stdlib.h>

#include "workers/policies/plugin/kvsweep_policy.h"

static double rank_turn(void* state, const kvsweep_waiting* waiting, int64_t now_ns) {
  (void)state, (void)now_ns;
  const double joined = (double)waiting->joined;
  return waiting->again ? -joined : joined;
}

static uint64_t last_admitted(void* state, const kvsweep_turn* running, int32_t count) {
  (void)state;
  return running[count - 1].id;
}

typedef struct {
  uint64_t releases;
  uint64_t* released; /* by block */
} pool;

static void* make_pool(const kvsweep_setup* setup) {
  pool* made = malloc(sizeof *made);
  made->releases = 0;
  made->released = calloc((size_t)setup->num_blocks + 1, sizeof *made->released);
  return made;
}

static void free_pool(void* state) {
  free(((pool*)state)->released);
  free(state);
}

static void freed(void* state, uint32_t block) {
  pool* of = state;
  of->released[block] = ++of->releases;
}

static double rank_block(void* state, uint32_t block, int64_t now_ns, int64_t* until_ns) {
  (void)now_ns, (void)until_ns;
  return (double)((pool*)state)->released[block];
}

static const kvsweep_policy policy = {.version = KVSWEEP_POLICY_VERSION,
                                      .size = sizeof(kvsweep_policy),
                                      .create = make_pool,
                                      .destroy = free_pool,
                                      .rank_turn = rank_turn,
                                      .choose_victim = last_admitted,
                                      .rank_block = rank_block,
                                      .on_freed = freed};

const kvsweep_policy* kvsweep_policy_table(void) { return &policy; }
