/* Order, admission and pins of a policy for a scheduler that is not the program's, as vLLM's: the
 * functions of libkvsweep_policies.so. The policy is built in or a plugin (kvsweep_policy.h).
 *
 * The scheduler says what happens to turns, in the order in which it happens, and asks. Turns are
 * those of kvsweep_policy.h: ids and jobs count up from 0 in order of arrival. A turn without a job
 * is a job of its own, its last turn, and has KVSWEEP_STRAY as its number: no admission holds it
 * back.
 *
 * Functions that return int32_t or int64_t return -1 or less when the policy fails or is asked what
 * cannot be; kvsweep_message() says why, and nothing but kvsweep_close() may follow.
 */
#ifndef KVSWEEP_SCHEDULER_H
#define KVSWEEP_SCHEDULER_H

#include "workers/policies/plugin/kvsweep_policy.h"

#define KVSWEEP_SCHEDULER_VERSION 2u
#define KVSWEEP_STRAY (-1)

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kvsweep_decider kvsweep_decider;

/* A pin that began (blocks > 0: of so many first blocks of the turn that just ended) or ended. */
typedef struct kvsweep_pin_change {
  uint32_t job;
  int32_t blocks;
} kvsweep_pin_change;

KVSWEEP_EXPORT uint32_t kvsweep_scheduler_version(void);

/* `settings` are lines "KEY = VALUE", keys as in a policy's file, texts without quotes. NULL if
 * that is no policy; `error` then says why. `values` of the pool are not used. */
KVSWEEP_EXPORT kvsweep_decider* kvsweep_open(const kvsweep_setup* pool, const char* settings,
                                             char* error, int32_t error_size);
KVSWEEP_EXPORT void kvsweep_close(kvsweep_decider* decider);
KVSWEEP_EXPORT const char* kvsweep_message(const kvsweep_decider* decider);
/* 1: the turn to preempt is always the one that was admitted last. */
KVSWEEP_EXPORT int32_t kvsweep_preempts_last(const kvsweep_decider* decider);

/* A step begins: pins whose time is over end. */
KVSWEEP_EXPORT int32_t kvsweep_begin_step(kvsweep_decider* decider, int64_t now_ns);
/* `root` is the job that the turn's job is a subagent of, or the turn's job itself. */
KVSWEEP_EXPORT int32_t kvsweep_arrive(kvsweep_decider* decider, const kvsweep_turn* turn,
                                      uint32_t root);
/* The id of the turn to serve next; -1: none may be served. -2 when the policy fails. */
KVSWEEP_EXPORT int64_t kvsweep_front(kvsweep_decider* decider);
/* The turn leaves the queue and runs. */
KVSWEEP_EXPORT int32_t kvsweep_take(kvsweep_decider* decider, uint64_t id);
/* A turn that was taken returns to the queue: preempted (1), or where it was (0). */
KVSWEEP_EXPORT int32_t kvsweep_return(kvsweep_decider* decider, const kvsweep_turn* turn,
                                      int32_t preempted);
/* The turn ends, aborted (1) or not (0), and holds so many blocks of KV. */
KVSWEEP_EXPORT int32_t kvsweep_end(kvsweep_decider* decider, const kvsweep_turn* turn,
                                   int32_t blocks, int32_t aborted, int64_t now_ns);
/* Writes the ids of all turns that run, in the order in which they are to be preempted. `running`
 * is all of them, in order of their admission. */
KVSWEEP_EXPORT int32_t kvsweep_victims(kvsweep_decider* decider, const kvsweep_turn* running,
                                       int32_t count, uint64_t* ids);
/* Ends one pin, so that a turn can run. 0: there is none. */
KVSWEEP_EXPORT int32_t kvsweep_release_pin(kvsweep_decider* decider);
/* Moves the pins' changes since the last call, `capacity` at most, to `changes`: how many. */
KVSWEEP_EXPORT int32_t kvsweep_pin_changes(kvsweep_decider* decider, kvsweep_pin_change* changes,
                                           int32_t capacity);

#ifdef __cplusplus
}
#endif

#endif
