/* Rules of the program, written as a plugin: the mean times of tools (tool_mean), pins of 2 s where
 * that is at most 2 s (pin, fixed), and programs whose contexts fit nine tenths of the pool after
 * one more turn (working_set). */
#include <stdlib.h>

#include "workers/policies/plugin/kvsweep_policy.h"

enum { kTools = 4096, kJobs = 4096 };

static const int64_t kSecond = 1000000000;

typedef struct {
  int64_t total_ns, calls; /* of the tool */
} tool_sum;

typedef struct {
  int32_t pool_tokens;
  tool_sum returned[kTools];
  int64_t started_ns[kJobs];                /* of the job's tool */
  int32_t tool[kJobs];                      /* that runs, or -2 */
  int64_t ended, ended_tokens, ended_turns; /* programs */
} cell;

static void* create(const kvsweep_setup* setup) {
  cell* made = calloc(1, sizeof *made);
  made->pool_tokens = setup->num_blocks * setup->block_size;
  for (int i = 0; i < kJobs; ++i) made->tool[i] = -2;
  return made;
}

static void destroy(void* state) { free(state); }

static void add(tool_sum* sum, int64_t took_ns) {
  sum->total_ns += took_ns;
  ++sum->calls;
}

static void on_arrival(void* state, const kvsweep_turn* turn) {
  cell* of = state;
  const int32_t tool = of->tool[turn->job];
  const int64_t took = turn->arrival_ns - of->started_ns[turn->job];
  if (tool >= 0 && took > 0) add(&of->returned[tool], took);
  of->tool[turn->job] = -2;
}

static void on_turn_end(void* state, const kvsweep_turn* turn, int64_t now_ns) {
  cell* of = state;
  of->started_ns[turn->job] = now_ns;
  if (!turn->last) of->tool[turn->job] = turn->tool;
}

/* Retention pin with the rule fixed. */
static int64_t hold(int known, int64_t expected_ns, int32_t* reason) {
  const int slow = known && expected_ns > 2 * kSecond;
  *reason = slow ? KVSWEEP_SLOW_TOOL : known ? KVSWEEP_KNOWN_TOOL : KVSWEEP_UNSEEN_TOOL;
  return slow ? 0 : 2 * kSecond;
}

static void retain(void* state, const kvsweep_turn* turn, kvsweep_gap* gap, int64_t now_ns) {
  const cell* of = state;
  (void)now_ns;
  if (turn->last || turn->tool < 0) {
    gap->reason = turn->last ? KVSWEEP_LAST_TURN : KVSWEEP_NO_TOOL;
    return;
  }
  const tool_sum* sum = &of->returned[turn->tool];
  gap->ttl_ns = hold(sum->calls > 0, sum->calls > 0 ? sum->total_ns / sum->calls : 0, &gap->reason);
  gap->action = gap->ttl_ns > 0 ? KVSWEEP_PIN : KVSWEEP_FREE;
}

/* Admission working_set with the horizon one_turn. */
static void admit(void* state, const kvsweep_program* programs, int32_t* admitted, int32_t count,
                  int32_t timer, int64_t now_ns) {
  const cell* of = state;
  double tokens = (double)of->ended_tokens, turns = (double)of->ended_turns;
  (void)timer, (void)now_ns;
  for (int32_t i = 0; i < count; ++i) {
    tokens += programs[i].tokens;
    turns += programs[i].turns;
  }
  const double growth = turns == 0 ? 0 : tokens / turns;
  double expected = 0;
  int64_t present = 0;
  for (int32_t i = 0; i < count; ++i) {
    const int in_engine =
        programs[i].phase == KVSWEEP_QUEUED || programs[i].phase == KVSWEEP_RUNNING;
    if (admitted[i] || in_engine) expected += programs[i].tokens + growth;
  }
  for (int32_t i = 0; i < count && programs[i].phase == KVSWEEP_HELD; ++i) {
    if (expected + (programs[i].tokens + growth) > 0.9 * of->pool_tokens) break;
    admitted[i] = 1;
    expected += programs[i].tokens + growth;
  }
  for (int32_t i = 0; i < count; ++i) {
    const int in_engine =
        programs[i].phase == KVSWEEP_QUEUED || programs[i].phase == KVSWEEP_RUNNING;
    if (admitted[i] || in_engine) present += programs[i].tokens;
  }
  for (int32_t i = count - 1; i >= 0 && present > of->pool_tokens; --i) {
    if (!admitted[i] || programs[i].phase != KVSWEEP_TOOL) continue;
    admitted[i] = 0;
    present -= programs[i].tokens;
  }
}

static void on_program_end(void* state, const kvsweep_program* program) {
  cell* of = state;
  ++of->ended;
  of->ended_tokens += program->tokens;
  of->ended_turns += program->turns;
}

static const kvsweep_policy policy = {.version = KVSWEEP_POLICY_VERSION,
                                      .size = sizeof(kvsweep_policy),
                                      .create = create,
                                      .destroy = destroy,
                                      .on_arrival = on_arrival,
                                      .on_turn_end = on_turn_end,
                                      .admit = admit,
                                      .on_program_end = on_program_end,
                                      .retain = retain};

const kvsweep_policy* kvsweep_policy_table(void) { return &policy; }
