import { underParents } from "./agents";
import type { Indexed } from "./indexed";
import type { KvHistory } from "./kv_history";
import { codesOf, kindOf, PARTS, reasonOf, shownTurn, type Part } from "./model";

/** KV that a job lost, and the request that caused the eviction. */
export interface Loss {
  time: number;
  kind: string;
  reason: string;
  blocks: number;
  by: string; // "job id, turn 3", or "" if unknown
}

export interface TurnView {
  row: number; // of Turns
  number: number; // in its job, from 1
  agent: number; // 0: the root
  depth: number; // agents between its own and the root, its own included
  arrive: number;
  finish: number;
  prompt: number;
  output: number;
  cachedGpu: number;
  cachedHost: number;
  recomputed: number;
  tool: string;
  parts: Record<Part, number>;
}

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
    turns: underParents(turns, indexed.turnsOfJob.of(job)).map(({ row, depth }) => ({
      row,
      number: shownTurn(turns.turn[row] as number),
      agent: turns.agent[row] as number,
      depth,
      arrive: turns.arrive[row] as number,
      finish: turns.finish[row] as number,
      prompt: turns.prompt[row] as number,
      output: turns.output[row] as number,
      cachedGpu: turns.cachedGpu[row] as number,
      cachedHost: turns.cachedHost[row] as number,
      recomputed: turns.recomputed[row] as number,
      tool: turns.tool[row] ?? "",
      parts: Object.fromEntries(PARTS.map((part) => [part, turns.parts[part][row] as number])) as TurnView["parts"],
    })),
    losses: lossesOf(indexed.kv, job, jobs.id),
  };
}

function lossesOf(kv: KvHistory, job: number, ids: string[]): Loss[] {
  const { events } = kv;
  const losses = codesOf(events.kinds, LOSSES);
  const lost = kv.eventsOfJob(job).filter((row) => losses[events.kind[row] as number]);
  const by = (row: number) => {
    const id = ids[events.byJob[row] as number];
    return id === undefined ? "" : `${id}, turn ${shownTurn(events.byTurn[row] as number)}`;
  };
  return Array.from(lost, (row) => ({
    time: events.time[row] as number,
    kind: kindOf(events, row),
    reason: reasonOf(events, row),
    blocks: events.blocks[row] as number,
    by: by(row),
  }));
}

/** Rows of Jobs with an id that contains the text, ignoring case. */
export function findJobs(indexed: Indexed, text: string): number[] {
  const wanted = text.trim().toLowerCase();
  const ids = indexed.trace.jobs.id;
  return ids.flatMap((id, row) => (id.toLowerCase().includes(wanted) ? [row] : []));
}
