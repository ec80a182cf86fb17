/* What a policy from outside the program supplies: decisions about the queue and about evictions,
 * as functions of a shared object. A sweep names it:
 *
 *   [axes]
 *   "policy.plugin" = ["libmine.so"]       # from the sweep file's folder, or absolute
 *   "policy.order" = ["fcfs", "plugin"]    # the queue, if the table has `order`
 *   "policy.eviction" = ["lru", "plugin"]  # KV on the GPU, if the table has `eviction`
 *
 * The object exports one function, kvsweep_policy_table(). This header is plain C, of which C++ is
 * a user like others: no exception may leave a function. All times are nanoseconds since the cell
 * began, on sim in virtual time. Pointers are valid during the call that passes them. The calls on
 * one state come one after the other; several states may exist at once, in one process or in many,
 * and their results must depend on nothing but these calls: cells that run again must decide alike.
 */
#ifndef KVSWEEP_POLICY_H
#define KVSWEEP_POLICY_H

#include <stdint.h>

/* Raised with every change of what is below; the program loads tables of its own version only. */
#define KVSWEEP_POLICY_VERSION 1u

#ifdef __cplusplus
extern "C" {
#endif

/* The pool of KV on the GPU. */
typedef struct kvsweep_setup {
  int32_t num_blocks; /* numbered from 1 to num_blocks */
  int32_t block_size; /* tokens of a block */
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
  int32_t pinned;            /* 1: KV of its job is pinned; 0 in functions of kvsweep_eviction */
} kvsweep_turn;

/* A turn that joins the queue. */
typedef struct kvsweep_waiting {
  kvsweep_turn turn;
  uint64_t joined; /* 1 for the first turn that joined, 2 for the next; counts again on return */
  int32_t again;   /* 1: it comes back, preempted or with KV that was loaded */
} kvsweep_waiting;

/* Which turn is served next: the one of least rank, of equals the one that joined first. */
typedef struct kvsweep_order {
  /* State of one queue; NULL is a state, too. A cell with policy.admission has several queues.
   * Both functions may be NULL. */
  void* (*create)(const kvsweep_setup* setup);
  void (*destroy)(void* state);

  /* The rank of a turn. Asked when it joins, and when a pin of its job comes or goes.
   * NaN fails the cell. now_ns is the time of the last step. */
  double (*rank)(void* state, const kvsweep_waiting* waiting, int64_t now_ns);

  /* 1: the rank of each waiting turn is asked for again at the start of each step. */
  int32_t rank_each_step;

  /* The id of the turn to preempt, of `count` > 0 that run, in order of their admission. Another id
   * fails the cell. NULL: the turn that was admitted last. */
  uint64_t (*choose_victim)(void* state, const kvsweep_turn* running, int32_t count);

  /* The turn has finished or was aborted. May be NULL. */
  void (*on_turn_end)(void* state, const kvsweep_turn* turn, int64_t now_ns);
} kvsweep_order;

/* Which KV without a user leaves the GPU: the block of least rank, of equals the one that was
 * released first; but no block before those that continue its context, and blocks without content
 * before all others. Ranks that are all equal are policy.eviction = "partial_first". */
typedef struct kvsweep_eviction {
  /* State of one pool; NULL is a state, too. Both functions may be NULL. */
  void* (*create)(const kvsweep_setup* setup);
  void (*destroy)(void* state);

  /* The rank of a block that can be evicted. Asked when that begins, and at *until_ns, which is
   * INT64_MAX (never) unless it is set here, to a time later than now_ns. NaN fails the cell. */
  double (*rank)(void* state, uint32_t block, int64_t now_ns, int64_t* until_ns);

  /* The turn computes (on_computed) or finds (on_hit) the content of `block`, which holds its
   * tokens from position * block_size on. May be NULL. */
  void (*on_computed)(void* state, const kvsweep_turn* turn, int32_t position, uint32_t block);
  void (*on_hit)(void* state, const kvsweep_turn* turn, int32_t position, uint32_t block);

  /* The turn, finished (1) or preempted (0), is about to release these blocks, in the order of its
   * tokens. May be NULL. */
  void (*on_released)(void* state, const kvsweep_turn* turn, int32_t finished,
                      const uint32_t* blocks, int32_t count, int64_t now_ns);

  /* The block can be evicted from now on (on_freed), is used again (on_used), or leaves the GPU
   * (on_evicted). May be NULL. */
  void (*on_freed)(void* state, uint32_t block);
  void (*on_used)(void* state, uint32_t block);
  void (*on_evicted)(void* state, uint32_t block);
} kvsweep_eviction;

/* What the object offers. Valid, as are the tables that it names, until the object is unloaded. */
typedef struct kvsweep_policy {
  uint32_t version;                 /* KVSWEEP_POLICY_VERSION */
  const kvsweep_order* order;       /* NULL: none */
  const kvsweep_eviction* eviction; /* NULL: none */
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
