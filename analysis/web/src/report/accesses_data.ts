// Accesses to the KV of a cell over time, as written by analysis/report/access_charts.cpp: the first logged layer.
import type { Maybe } from "./values";

/** One array per column; times in ns from the first access. */
export interface AccessMarks {
  t_ns: number[];
  dur_ns: number[];
  step: number[];
  /** Positions in KINDS. */
  kind: number[];
  block: number[];
  first_slot: number[];
  n_slots: number[];
  kv_head: number[];
  job: number[];
}

/** Block, share of the time without an access, longest pause [s], time since the last write [s]. */
export type BlockIdle = [number, Maybe, Maybe, Maybe];

export interface AccessChart {
  kind: string;
  gpu: string;
  label: string;
  cell: number;
  stopped_step: Maybe;
  records: number;
  layer: number;
  steps: number[];
  in_steps: number;
  marks: AccessMarks;
  /** Pauses of all accesses: start, and length cut from each. */
  cuts: [number, number][];
  kept_pause_ns: number;
  blocks: number;
  keys: BlockIdle[];
  values: BlockIdle[];
  window_use: Maybe[];
  forwards: number;
}

export const KINDS = ["read K", "read V", "write K", "write V"] as const;
export const isWrite = (kind: number): boolean => kind >= 2;
export const isValue = (kind: number): boolean => kind % 2 === 1;

/** Position of a time on an axis with cut pauses. A pause is shortened evenly. */
export function place({ cuts, kept_pause_ns }: AccessChart, t: number): number {
  let shown = t;
  for (const [from, lost] of cuts) {
    if (t <= from) break;
    shown -= lost * Math.min(1, (t - from) / (lost + kept_pause_ns));
  }
  return shown;
}

const span = (numbers: number[]): string =>
  (numbers.length === 1 ? `${numbers[0]}` : `${numbers[0]} to ${numbers[numbers.length - 1]}`);

/** Text on which part of the log is shown and which is left out. */
export function shownText(chart: AccessChart): string {
  const drawn = chart.marks.t_ns.length;
  const every = Math.ceil(chart.in_steps / Math.max(1, drawn));
  const thinned = every > 1
    ? `One access of each ${every.toLocaleString("en-US")} is drawn, picked at random`
    : "Every access is drawn";
  const stopped = chart.stopped_step === null ? "" : ` Logging stopped before step ${chart.stopped_step}.`;
  const steps = `step${chart.steps.length > 1 ? "s" : ""} ${span(chart.steps)}`;
  return `Layer ${chart.layer}, ${steps}: ${chart.in_steps.toLocaleString("en-US")} of the cell's ` +
    `${chart.records.toLocaleString("en-US")} records. ${thinned}.${stopped}`;
}
