/* Decisions that the header allows, without any sense: from a fixed sequence of numbers. */
#include <stdlib.h>

#include "workers/policies/plugin/kvsweep_policy.h"

typedef struct {
  uint64_t last; /* number of the sequence */
} cell;

static uint32_t next(void* state, uint32_t limit) {
  cell* of = state;
  of->last = of->last * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(of->last >> 33) % limit;
}

static void* create(const kvsweep_setup* setup) {
  cell* made = calloc(1, sizeof *made);
  made->last = (uint64_t)setup->num_blocks * 977 + (uint64_t)setup->block_size;
  return made;
}

static void destroy(void* state) { free(state); }

static double rank_turn(void* state, const kvsweep_waiting* waiting, int64_t now_ns) {
  (void)waiting, (void)now_ns;
  return next(state, 5);
}

static uint64_t choose_victim(void* state, const kvsweep_turn* running, int32_t count) {
  return running[next(state, (uint32_t)count)].id;
}

static void admit(void* state, const kvsweep_program* programs, int32_t* admitted, int32_t count,
                  int32_t timer, int64_t now_ns) {
  (void)programs, (void)timer, (void)now_ns;
  for (int32_t i = 0; i < count; ++i) admitted[i] = next(state, 2) == 0;
}

static void retain(void* state, const kvsweep_turn* turn, kvsweep_gap* gap, int64_t now_ns) {
  (void)turn, (void)now_ns;
  gap->action = (int32_t)next(state, 3);
  gap->ttl_ns = 1 + next(state, 100) * 5000000;
  gap->reason = (int32_t)next(state, KVSWEEP_WASTE + 1);
}

static double rank_block(void* state, uint32_t block, int64_t now_ns, int64_t* until_ns) {
  (void)block;
  if (next(state, 2) == 0) *until_ns = now_ns + 1 + next(state, 100) * 1000000;
  return next(state, 7);
}

static const kvsweep_policy policy = {.version = KVSWEEP_POLICY_VERSION,
                                      .size = sizeof(kvsweep_policy),
                                      .create = create,
                                      .destroy = destroy,
                                      .rank_turn = rank_turn,
                                      .rank_each_step = 1,
                                      .choose_victim = choose_victim,
                                      .admit = admit,
                                      .admission_period_ns = 50000000,
                                      .retain = retain,
                                      .rank_block = rank_block};

const kvsweep_policy* kvsweep_policy_table(void) { return &policy; }
