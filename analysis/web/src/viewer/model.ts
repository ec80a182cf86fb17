import type { Numbers } from "@/shared/columns";

/** Rows of a table, as columns of numbers. NaN is what a trace does not say. */
export type Table<Name extends string> = { n: number } & Record<Name, Numbers>;

/** The parts of a turn's time. */
export const PARTS = ["queue", "load", "recompute", "prefill", "decode", "gap"] as const;
export type Part = (typeof PARTS)[number];

/**
 * A row per step, in the order of time. Times in seconds from the cell's own zero, sizes in bytes. `largest`: tokens of the largest
 * request; used, pinned, cached, empty: KV blocks by state; loading: requests that wait for KV; toDevice, toHost: bytes copied in
 * the step; stop: position in stopNames.
 */
export const STEP = ["number", "start", "duration", "tokens", "largest", "prefill", "decodes", "running", "waiting", "preempted",
  "used", "pinned", "cached", "empty", "hostUsed", "hostTotal", "loading", "toDevice", "toHost", "stop"] as const;
export type Steps = Table<(typeof STEP)[number]> & { stopNames: string[] };

export const JOB = ["arrive", "finish", "turns", "jct", "queue", "preemptions"] as const;
export type Jobs = Table<(typeof JOB)[number]> & { id: string[] };

/** `job`: row of Jobs; agent: number in its job, 0 is the root; parent: the agent that spawned it; the parts of its time. */
export const TURN = ["job", "turn", "agent", "parent", "arrive", "admit", "firstToken", "finish", "prompt", "output", "cachedGpu", "cachedHost",
  "recomputed", ...PARTS] as const;
export type Turns = Table<(typeof TURN)[number]> & { tool: string[] };

/** A turn's equal shares of the steps in rows `first` to `last`: `tokens` in each, the first after `before` tokens; kind: position in KINDS. */
export const SHARE = ["turn", "kind", "first", "last", "tokens", "before"] as const;
export const KINDS = ["new", "resumed", "running", "preempted"] as const;

/** The state of a turn, or of a job that holds a pin, from row `first` of Steps to row `last`; running 0: waiting. */
export const STAY = ["turn", "running", "first", "last"] as const;
export type Stays = Table<(typeof STAY)[number]>;

/** KV events in order of time. `step` and `turn` are numbers, not rows; job: row of Jobs, -1: none; kind and reason: positions in kinds and reasons. */
export const EVENT = ["step", "time", "job", "turn", "kind", "reason", "blocks", "bytes", "byJob", "byTurn", "deadline"] as const;
export type Events = Table<(typeof EVENT)[number]> & { kinds: string[]; reasons: string[] };

/** Everything that happened in one cell. */
export interface Trace {
  title: string;
  policy: string;
  origin: "measured" | "modelled" | "unknown";
  facts: [string, string][];
  steps: Steps;
  jobs: Jobs;
  turns: Turns;
  shares: Table<(typeof SHARE)[number]>;
  stays: Stays;
  events: Events;
  /** Jobs that hold pins, if a trace lists them without events; otherwise null. */
  pins: Stays | null;
}

/** The kind of an event, and its reason. */
export const kindOf = (events: Events, row: number): string => events.kinds[at(events.kind, row)] ?? "";
export const reasonOf = (events: Events, row: number): string => events.reasons[at(events.reason, row)] ?? "";

/** The value of a row, NaN if there is no such row. */
export const at = (column: Numbers, row: number): number => column[row] ?? NaN;

/** The row of the last value that is not above `value`; -1 when all are. Values ascend. */
export function lastNotAbove(values: Numbers, value: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (at(values, middle) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The spans that contain a row, in their own order. */
export function spansAt({ first, last }: { first: Numbers; last: Numbers }, row: number): number[] {
  const found: number[] = [];
  for (let span = 0; span < first.length; ++span) if (first[span]! <= row && row <= last[span]!) found.push(span);
  return found;
}

/** The rows of each group, in their order; a row of another group belongs to none. */
export function groupsOf(of: Numbers, groups: number): number[][] {
  const rows = Array.from({ length: groups }, (): number[] => []);
  of.forEach((group, row) => rows[group]?.push(row));
  return rows;
}

/** Pages show turns from 1; rows of /turns count from 0. */
export const shownTurn = (turn: number): number => turn + 1;

/** The step that runs at a time, or the last one before it. */
export const stepAt = (trace: Trace, time: number): number => Math.max(0, lastNotAbove(trace.steps.start, time));

export function endOf({ steps }: Trace): number {
  return steps.n === 0 ? 0 : at(steps.start, steps.n - 1) + (at(steps.duration, steps.n - 1) || 0);
}
