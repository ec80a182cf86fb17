import type { Numbers } from "@/shared/columns";
import { lastNotAbove, type Trace } from "./model";

export type Point = [time: number, value: number];

export type Lane = "prefill" | "decode" | "running" | "waiting" | "preempted" | "used" | "pinned" | "cached" | "empty" | "toDevice" | "toHost";

/** A point per step, or per bin of steps if there are too many: at most so many. Copies in GB/s. */
export type Timeline = { stepsPerPoint: number } & Record<Lane, Point[]>;

type Fold = (values: Numbers, from: number, to: number) => number;

const sums = new WeakMap<Numbers, Float64Array>();

/** Prefix sums, so that the sum over any rows costs two look-ups. */
function sumsOf(values: Numbers): Float64Array {
  const known = sums.get(values);
  if (known !== undefined) return known;
  const made = new Float64Array(values.length + 1);
  for (let i = 0; i < values.length; ++i) made[i + 1] = (made[i] as number) + ((values[i] as number) || 0);
  sums.set(values, made);
  return made;
}

const mean: Fold = (values, from, to) => sum(values, from, to) / (to - from);
const last: Fold = (values, _, to) => values[to - 1] as number;

/** The sum over rows [from, to); unknown values count as 0. */
export function sum(values: Numbers, from: number, to: number): number {
  const before = sumsOf(values);
  return (before[to] as number) - (before[from] as number);
}

const most: Fold = (values, from, to) => {
  let largest = values[from] as number;
  for (let i = from + 1; i < to; ++i) largest = Math.max(largest, values[i] as number);
  return largest;
};

/** Rows [edges[i], edges[i + 1]) make point i. */
function edgesOf(trace: Trace, from: number, to: number, points: number): number[] {
  const { start, n } = trace.steps;
  const first = Math.max(0, lastNotAbove(start, from));
  const end = Math.min(n, lastNotAbove(start, to) + 2);
  if (end - first <= points) return Array.from({ length: end - first + 1 }, (_, i) => first + i);
  const edges = [first];
  for (let i = 1; i < points; ++i) {
    const row = lastNotAbove(start, from + ((to - from) * i) / points) + 1;
    if (row > (edges[edges.length - 1] as number)) edges.push(Math.min(row, end));
  }
  if ((edges[edges.length - 1] as number) < end) edges.push(end);
  return edges;
}

/**
 * The steps between two times in at most `points` points. Tokens are means over a point's steps, requests their
 * maximum, blocks the value of the last step, and bytes a rate.
 */
export function timeline(trace: Trace, from: number, to: number, points: number): Timeline {
  const { steps } = trace;
  const edges = edgesOf(trace, from, to, points);
  const finish = (row: number) => (steps.start[row] as number) + ((steps.duration[row] as number) || 0);
  const fold = (values: Numbers, how: Fold, scale: (from: number, to: number) => number = () => 1): Point[] => {
    const made: Point[] = [];
    for (let i = 0; i + 1 < edges.length; ++i) {
      const [low, high] = [edges[i] as number, edges[i + 1] as number];
      made.push([steps.start[low] as number, how(values, low, high) * scale(low, high)]);
    }
    const end = made[made.length - 1];
    if (end !== undefined) made.push([finish((edges[edges.length - 1] as number) - 1), end[1]]);
    return made.every(([, value]) => Number.isNaN(value)) ? [] : made;
  };
  const rate = (low: number, high: number) => {
    const until = high < steps.n ? (steps.start[high] as number) : finish(high - 1);
    return 1e-9 / Math.max(1e-9, until - (steps.start[low] as number));
  };
  return {
    stepsPerPoint: edges.reduce((widest, edge, i) => Math.max(widest, edge - (edges[i - 1] ?? edge)), 0),
    prefill: fold(steps.prefill, mean), decode: fold(steps.decodes, mean),
    running: fold(steps.running, most), waiting: fold(steps.waiting, most), preempted: fold(steps.preempted, sum),
    used: fold(steps.used, last), pinned: fold(steps.pinned, last), cached: fold(steps.cached, last), empty: fold(steps.empty, last),
    toDevice: fold(steps.toDevice, sum, rate), toHost: fold(steps.toHost, sum, rate),
  };
}
