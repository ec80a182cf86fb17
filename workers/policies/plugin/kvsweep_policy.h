/* What a policy from outside the program supplies: decisions, as functions of a shared object. A
 * sweep names it, and what it decides in place of the program's own rules:
 *
 *   [axes]
 *   "policy.plugin" = ["libmine.so"]       # from the sweep file's folder, or absolute
 *   "policy.order" = ["fcfs", "plugin"]    # the queue, if the object has rank_turn
 *
 * The same goes for policy.admission, policy.retention and policy.eviction.
 *
 * The object exports one function, kvsweep_policy_table(). This header is plain C, of which C++ is
 * a user like others: no exception may leave a function. All times are nanoseconds since the cell
 * began, on sim in virtual time. Pointers are valid during the call that passes them. The calls on
 * one state come one after the other; several states may exist at once, in one process or in many,
 * and their results must depend on nothing but these calls: cells that run again must decide alike.
 * An answer that this header forbids, and a call that takes longer than policy.plugin_time_limit_s,
 * fail the cell.
 */
#ifndef KVSWEEP_POLICY_H
#define KVSWEEP_POLICY_H

#include <stdint.h>

/* Raised when what is below changes its meaning; the program loads tables of its own version only.
 * Functions that are added at the end of the table do not raise it: `size` says which are there. */
#define KVSWEEP_POLICY_VERSION 4u

#ifdef __cplusplus
extern "C" {
#endif

/* The pool of KV on the GPU, and the policy's own parameters. */
typedef struct kvsweep_setup {
  int32_t num_blocks; /* numbered from 1 to num_blocks */
  int32_t block_size; /* tokens of a block */
  double values[4]; /* policy.plugin_value_1 to policy.plugin_value_4 of the sweep; 0 by default */
} kvsweep_setup;

/* One LLM call of a job. A job is an agent's trajectory and has one turn at a time. */
typedef struct kvsweep_turn {
  uint64_t id;               /* unique in a cell */
  int64_t arrival_ns;        /* of the turn */
  int64_t job_arrival_ns;    /* of the job's first turn */
  uint32_t job;              /* from 0 */
  int32_t number;            /* of the turn in its job, from 0 */
  int32_t last;              /* 1: the job ends with it */
  int32_t tool;              /* that its answer calls; -1: none */
  int32_t priority;          /* the client's; smaller is more urgent */
  int32_t prompt_tokens;     /* of the prompt */
  int32_t earlier_tokens;    /* of the prompt's beginning, which earlier turns computed */
  int32_t output_tokens;     /* generated so far */
  int32_t max_output_tokens; /* that the client allows */
  int32_t computed_tokens;   /* of prompt and output that have KV on the GPU and are this turn's */
  int32_t preemptions;       /* so far */
  int32_t pinned;            /* 1: KV of its job is pinned; told to functions of the order alone */
} kvsweep_turn;

/* A turn that joins the queue. */
typedef struct kvsweep_waiting {
  kvsweep_turn turn;
  uint64_t joined; /* 1 for the first turn that joined, 2 for the next; counts again on return */
  int32_t again;   /* 1: it comes back, preempted or with KV that was loaded */
  int32_t unused;  /* 0 */
} kvsweep_waiting;

/* A program: a job with its subagents, which has arrived and is not over. */
typedef struct kvsweep_program {
  int64_t since_ns; /* when its phase began */
  uint32_t root;    /* the job */
  int32_t phase;    /* KVSWEEP_HELD and so on */
  int32_t tokens;   /* of its contexts: prompt and output */
  int32_t turns;    /* that have arrived */
  int32_t admitted; /* 1: its turns are served. 0: they are held back when they arrive */
  int32_t unused;   /* 0 */
} kvsweep_program;

enum {
  KVSWEEP_HELD = 0,    /* its turn waits and is held back */
  KVSWEEP_QUEUED = 1,  /* its turn waits to be served */
  KVSWEEP_RUNNING = 2, /* or its KV is being loaded */
  KVSWEEP_TOOL = 3
};

/* What happens to a turn's KV while its tool runs. */
typedef struct kvsweep_gap {
  int64_t ttl_ns; /* of a pin, above 0 */
  int32_t action; /* KVSWEEP_FREE and so on */
  int32_t reason; /* KVSWEEP_NO_REASON and so on, for the record of the cell */
} kvsweep_gap;

enum {
  KVSWEEP_FREE = 0, /* it stays cached until its blocks are needed */
  KVSWEEP_PIN = 1,  /* it is kept on the GPU for ttl_ns */
  KVSWEEP_SWAP = 2  /* it is copied to swap space, if the cell has any */
};

enum {
  KVSWEEP_NO_REASON = 0,
  KVSWEEP_KNOWN_TOOL = 1,
  KVSWEEP_UNSEEN_TOOL = 2,
  KVSWEEP_SLOW_TOOL = 3,
  KVSWEEP_NO_TOOL = 4,
  KVSWEEP_LAST_TURN = 5,
  KVSWEEP_COLD_START = 6,
  KVSWEEP_UTILITY = 7,
  KVSWEEP_RENT = 8,
  KVSWEEP_WASTE = 9
};

/* What the object offers: functions, each of which may be NULL. Valid while it is loaded. */
typedef struct kvsweep_policy {
  uint32_t version; /* KVSWEEP_POLICY_VERSION */
  uint32_t size;    /* sizeof(kvsweep_policy) */

  /* The state of one cell, which all other functions are given; NULL is a state, too. */
  void* (*create)(const kvsweep_setup* setup);
  void (*destroy)(void* state);

  /* The turn has arrived, or has finished and its tool starts: told once, before any function is
   * asked about it. */
  void (*on_arrival)(void* state, const kvsweep_turn* turn);
  void (*on_turn_end)(void* state, const kvsweep_turn* turn, int64_t now_ns);

  /* policy.order needs rank_turn: the turn of least rank is served next, of equals the one that
   * joined the queue first. Asked when a turn joins, and when a pin of its job comes or goes; where
   * rank_each_step is 1, at the start of each step, too. NaN is forbidden. now_ns is the time of
   * the last step. */
  double (*rank_turn)(void* state, const kvsweep_waiting* waiting, int64_t now_ns);
  int32_t rank_each_step;
  /* policy.order: the id of the turn to preempt, of `count` > 0 that run, in order of their
   * admission; no other id is allowed. NULL: the turn that was admitted last. */
  uint64_t (*choose_victim)(void* state, const kvsweep_turn* running, int32_t count);

  /* policy.admission needs admit: sets admitted[i] of programs[i] to 1 or 0. It comes preset to
   * programs[i].admitted. The programs that are held come first, in the order of service. Called
   * when a turn has arrived or ended (timer 0), and each admission_period_ns, if that is above 0
   * (timer 1). A turn that is in the queue or runs is never held back: its program is paused when
   * it ends. */
  void (*admit)(void* state, const kvsweep_program* programs, int32_t* admitted, int32_t count,
                int32_t timer, int64_t now_ns);
  void (*on_program_end)(void* state, const kvsweep_program* program);
  int64_t admission_period_ns;
  /* 1: all turns may be held back while nothing runs. 0: the smallest program is admitted then. */
  int32_t admission_may_idle;

  /* policy.retention needs retain: sets `gap`, which comes preset to zeros. The turn has finished,
   * and its blocks are not released yet. */
  void (*retain)(void* state, const kvsweep_turn* turn, kvsweep_gap* gap, int64_t now_ns);

  /* policy.eviction needs rank_block: of KV without a user the block of least rank leaves the GPU
   * first, of equals the one that was released first; but no block before those that continue its
   * context, and blocks without content before all others. Ranks that are all equal are
   * policy.eviction = "partial_first". Asked when a block can be evicted from now on, and at
   * *until_ns, which is INT64_MAX (never) unless it is set here, to a time later than now_ns. NaN
   * is forbidden. */
  double (*rank_block)(void* state, uint32_t block, int64_t now_ns, int64_t* until_ns);
  /* The turn computes (on_computed) or finds (on_hit) the content of `block`, which holds its
   * tokens from position * block_size on. */
  void (*on_computed)(void* state, const kvsweep_turn* turn, int32_t position, uint32_t block);
  void (*on_hit)(void* state, const kvsweep_turn* turn, int32_t position, uint32_t block);
  /* The turn, finished (1) or preempted (0), is about to release these blocks, in the order of its
   * tokens. */
  void (*on_released)(void* state, const kvsweep_turn* turn, int32_t finished,
                      const uint32_t* blocks, int32_t count, int64_t now_ns);
  /* The block can be evicted from now on (on_freed), is used again (on_used), or leaves the GPU
   * (on_evicted). */
  void (*on_freed)(void* state, uint32_t block);
  void (*on_used)(void* state, uint32_t block);
  void (*on_evicted)(void* state, uint32_t block);
} kvsweep_policy;

#if defined(__GNUC__)
#define KVSWEEP_EXPORT __attribute__((visibility("default")))
#else
#define KVSWEEP_EXPORT
#endif

/* The one symbol that the object exports. Never NULL. */
KVSWEEP_EXPORT const kvsweep_policy* kvsweep_policy_table(void);

#ifdef __cplusplus
}
#endif

#endif
