import type { Events, Steps } from "./model";
import { codesOf, lastNotAbove, reasonOf } from "./model";

/** A pin from row `first` of the steps to row `last`, both with it. */
export interface Pin {
  job: number;
  turn: number;
  blocks: number;
  since: number; // seconds
  deadline: number; // NaN: none
  first: number;
  last: number;
  why: string;
  end: string; // why it ended; "" where it never did
}

/** Copies between device and host, from the row that asked for one to the row that ended it. */
export interface Transfers {
  event: Int32Array; // row of Events
  toHost: Uint8Array;
  first: Int32Array;
  last: Int32Array;
}

const TO_DEVICE = ["load", "prefetch", "swap_in"];
const TO_HOST = ["store", "demote", "swap_out"];

/** The row whose numbers an event counts in: its own step's when it is of its start, otherwise the next one's. */
export function rowsOfEvents(steps: Steps, events: Events): Int32Array {
  const rows = new Int32Array(events.n);
  let row = 0;
  for (let i = 0; i < events.n; ++i) {
    const step = events.step[i] as number; // of the event before, mostly
    if (steps.number[row] !== step) row = Math.max(0, lastNotAbove(steps.number, step));
    rows[i] = (events.time[i] as number) <= (steps.start[row] as number) ? row : row + 1;
  }
  return rows;
}

export function pinsOf(steps: Steps, events: Events, rows: Int32Array): Pin[] {
  const pins: Pin[] = [];
  const held = new Map<number, Pin>();
  const [pin, unpin] = [events.kinds.indexOf("pin"), events.kinds.indexOf("unpin")];
  for (let i = 0; i < events.n; ++i) {
    const job = events.job[i] as number;
    if (events.kind[i] === pin) {
      const made: Pin = {
        job,
        turn: events.turn[i] as number,
        blocks: events.blocks[i] as number,
        since: events.time[i] as number,
        deadline: events.deadline[i] as number,
        first: rows[i] as number,
        last: steps.n - 1,
        why: reasonOf(events, i),
        end: "",
      };
      held.set(job, made);
      pins.push(made);
    } else if (events.kind[i] === unpin) {
      const ended = held.get(job);
      if (ended !== undefined) [ended.last, ended.end] = [(rows[i] as number) - 1, reasonOf(events, i)];
      held.delete(job);
    }
  }
  return pins.filter((pin) => pin.first <= pin.last);
}

/**
 * Copies with their ends: a link serves its copies in the order they were asked for, so one ends in the step
 * in which as many bytes have moved as were asked for up to it.
 */
export function transfersOf(steps: Steps, events: Events, rows: Int32Array): Transfers {
  const found: { event: number[]; toHost: number[]; first: number[]; last: number[] } = { event: [], toHost: [], first: [], last: [] };
  const failed = events.reasons.indexOf("load_failed");
  for (const toHost of [false, true]) {
    const link = new Link(toHost ? steps.toHost : steps.toDevice);
    const wanted = codesOf(events.kinds, toHost ? TO_HOST : TO_DEVICE);
    for (let i = 0; i < events.n; ++i) {
      if (!wanted[events.kind[i] as number] || events.reason[i] === failed) continue;
      const first = Math.min(rows[i] as number, steps.n - 1);
      found.event.push(i);
      found.toHost.push(Number(toHost));
      found.first.push(first);
      found.last.push(link.end(first, events.bytes[i] as number));
    }
  }
  const { event, toHost, first, last } = found;
  return { event: Int32Array.from(event), toHost: Uint8Array.from(toHost), first: Int32Array.from(first), last: Int32Array.from(last) };
}

class Link {
  private asked = 0;
  private moved = 0;
  private row = -1;

  constructor(private readonly bytes: Steps["toHost"]) {}

  /** The row in which a copy ends that is asked for next, in row `first`. */
  end(first: number, bytes: number): number {
    if (this.bytes === null) return first;
    this.asked += bytes;
    while (this.row + 1 < this.bytes.length && (this.moved < this.asked || this.row < first)) {
      this.moved += this.bytes[++this.row] as number;
    }
    return Math.max(first, this.row);
  }
}
