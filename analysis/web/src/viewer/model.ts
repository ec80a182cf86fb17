import type { Numbers } from "@/shared/columns";
import type { GroupData } from "./span_index";

/** A column that a trace may lack. */
export type Maybe = Numbers | null;

/** A row per step, in the order of time. Times in seconds from the cell's own zero, sizes in bytes. */
export interface Steps {
  n: number;
  number: Numbers;
  start: Numbers;
  duration: Numbers;
  tokens: Numbers;
  largest: Maybe; // tokens of the largest request
  prefill: Numbers;
  decodes: Numbers;
  running: Numbers;
  waiting: Numbers;
  preempted: Numbers;
  used: Numbers; // KV blocks by state
  pinned: Numbers;
  cached: Maybe;
  empty: Numbers;
  hostUsed: Maybe;
  hostTotal: Maybe;
  loading: Maybe; // requests that wait for KV to load
  toDevice: Maybe; // bytes copied in the step
  toHost: Maybe;
  stop: Numbers; // position in stopNames
  stopNames: string[];
}

export interface Jobs {
  n: number;
  id: string[];
  arrive: Numbers;
  finish: Numbers;
  turns: Numbers;
  jct: Numbers;
  queue: Numbers;
  preemptions: Numbers;
}

export interface Turns {
  n: number;
  job: Numbers; // row of Jobs
  turn: Numbers;
  agent: Numbers; // number in its job; 0: the root
  parent: Numbers; // the agent that spawned it
  arrive: Numbers;
  admit: Numbers;
  firstToken: Numbers;
  finish: Numbers;
  prompt: Numbers;
  output: Numbers;
  cachedGpu: Numbers;
  cachedHost: Numbers;
  recomputed: Numbers;
  /** The parts of its time, as in PARTS. */
  parts: Record<Part, Numbers>;
  tool: string[];
}

export const PARTS = ["queue", "load", "recompute", "prefill", "decode", "gap"] as const;
export type Part = (typeof PARTS)[number];

/** A turn's equal shares of `count` consecutive steps: `tokens` in each, starting after `before` tokens. */
export interface Shares {
  n: number;
  turn: Numbers; // row of Turns
  kind: Numbers; // position in KINDS
  first: Numbers; // row of Steps
  count: Numbers;
  tokens: Numbers;
  before: Numbers;
}

export const KINDS = ["new", "resumed", "running", "preempted"] as const;

/** The state of a turn from row `first` of Steps to row `last`. */
export interface Stays {
  n: number;
  turn: Numbers;
  running: Numbers; // 0: waiting
  first: Numbers;
  last: Numbers;
}

/** KV events in order of time. */
export interface Events {
  n: number;
  step: Numbers; // its number, not its row
  time: Numbers;
  job: Numbers; // row of Jobs, -1: none
  turn: Numbers; // its number
  kind: Numbers; // position in kinds
  kinds: string[];
  reason: Numbers; // position in reasons
  reasons: string[];
  blocks: Numbers;
  bytes: Numbers;
  byJob: Numbers;
  byTurn: Numbers;
  deadline: Numbers;
}

/** The history that follows from a trace's KV events. */
export interface KvData {
  events: Events;
  rows: Int32Array; // for each event, the row of Steps that includes it; ascending
  ofJob: GroupData;
  lost: Float64Array; // blocks that a job lost on the GPU
  pins: Spans;
  toDevice: Spans; // copies; `first` and `last` ascend
  toHost: Spans;
}

/** Events that start a state, and the first and last row of Steps in which it holds. */
export interface Spans {
  event: Int32Array;
  first: Int32Array;
  last: Int32Array;
}

/** Everything that happened in one cell. */
export interface Trace {
  title: string;
  policy: string;
  origin: "measured" | "modelled" | "unknown";
  facts: [string, string][];
  steps: Steps;
  jobs: Jobs;
  turns: Turns;
  shares: Shares;
  stays: Stays;
  kv: KvData;
  /** Jobs that hold pins, if a trace lists them without events; otherwise null. */
  pins: Stays | null;
}

/** The kind of an event, and its reason. */
export function kindOf(events: Events, row: number): string {
  return events.kinds[events.kind[row] as number] ?? "";
}

export function reasonOf(events: Events, row: number): string {
  return events.reasons[events.reason[row] as number] ?? "";
}

/** Whether each of an enumeration's values is one of these. */
export function codesOf(names: string[], wanted: string[]): boolean[] {
  return names.map((name) => wanted.includes(name));
}

/** The value of a column that may be missing: NaN then. */
export function at(column: Maybe, row: number): number {
  return column?.[row] ?? NaN;
}

/** The row of the last value that is not above `value`; -1 when all are. Values ascend. */
export function lastNotAbove(values: Numbers, value: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] as number) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Pages show turns from 1; rows of /turns count from 0. */
export const shownTurn = (turn: number): number => turn + 1;

/** The step that runs at a time, or the last one before it. */
export function stepAt(trace: Trace, time: number): number {
  return Math.max(0, lastNotAbove(trace.steps.start, time));
}

export function endOf(trace: Trace): number {
  const last = trace.steps.n - 1;
  return last < 0 ? 0 : (trace.steps.start[last] as number) + (trace.steps.duration[last] || 0);
}
