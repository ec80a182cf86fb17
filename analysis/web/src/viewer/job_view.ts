import { underParents } from "./agents";
import type { Indexed } from "./indexed";
import type { KvHistory } from "./kv_history";
import { at, kindOf, reasonOf, shownTurn, TURN } from "./model";

/** KV that a job lost, and the request that caused the eviction. */
export interface Loss {
  time: number;
  kind: string;
  reason: string;
  blocks: number;
  by: string; // "job id, turn 3", or "" if unknown
}

/** The columns of a turn, and: its number in its job from 1; the agents between its own and the root, its own included. */
export type TurnView = Record<(typeof TURN)[number], number> & { number: number; depth: number; tool: string };

export interface JobView {
  id: string;
  turns: TurnView[];
  losses: Loss[];
}

const LOSSES = ["evict_gpu", "evict_host", "preempt", "drop", "swap_out"];

/** The turns of a job in order, those of subagents behind the turn that spawned them, and the causes of its KV losses. */
export function viewJob(indexed: Indexed, job: number): JobView {
  const { jobs, turns } = indexed.trace;
  return {
    id: jobs.id[job] ?? "?",
    turns: underParents(turns, indexed.turnsOfJob[job] ?? []).map(({ row, depth }) => ({
      ...(Object.fromEntries(TURN.map((name) => [name, at(turns[name], row)])) as Record<(typeof TURN)[number], number>),
      number: shownTurn(at(turns.turn, row)),
      depth,
      tool: turns.tool[row] ?? "",
    })),
    losses: lossesOf(indexed.kv, job, jobs.id),
  };
}

function lossesOf(kv: KvHistory, job: number, ids: string[]): Loss[] {
  const { events } = kv;
  return kv.eventsOfJob(job).filter((row) => LOSSES.includes(kindOf(events, row))).map((row) => {
    const id = ids[at(events.byJob, row)];
    return {
      time: at(events.time, row),
      kind: kindOf(events, row),
      reason: reasonOf(events, row),
      blocks: at(events.blocks, row),
      by: id === undefined ? "" : `${id}, turn ${shownTurn(at(events.byTurn, row))}`,
    };
  });
}

/** Rows of Jobs with an id that contains the text, ignoring case. */
export function findJobs(indexed: Indexed, text: string): number[] {
  const wanted = text.trim().toLowerCase();
  const ids = indexed.trace.jobs.id;
  return ids.flatMap((id, row) => (id.toLowerCase().includes(wanted) ? [row] : []));
}
