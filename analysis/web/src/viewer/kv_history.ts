import type { Events, Steps } from "./model";
import { lastNotAbove } from "./model";

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

/** A copy between device and host, from the row that asked for it to the row that ended it. */
export interface Transfer {
  kind: string;
  reason: string;
  toHost: boolean;
  job: number;
  turn: number;
  blocks: number;
  bytes: number;
  first: number;
  last: number;
}

const TO_DEVICE = new Set(["load", "prefetch", "swap_in"]);
const TO_HOST = new Set(["store", "demote", "swap_out"]);

/** The row whose numbers an event counts in: its own step's when it is of its start, otherwise the next one's. */
export function rowsOfEvents(steps: Steps, events: Events): Int32Array {
  return Int32Array.from({ length: events.n }, (_, i) => {
    const row = Math.max(0, lastNotAbove(steps.number, events.step[i] as number));
    return (events.time[i] as number) <= (steps.start[row] as number) ? row : row + 1;
  });
}

export function pinsOf(steps: Steps, events: Events, rows: Int32Array): Pin[] {
  const pins: Pin[] = [];
  const held = new Map<number, Pin>();
  for (let i = 0; i < events.n; ++i) {
    const job = events.job[i] as number;
    if (events.kind[i] === "pin") {
      const pin: Pin = {
        job,
        turn: events.turn[i] as number,
        blocks: events.blocks[i] as number,
        since: events.time[i] as number,
        deadline: events.deadline[i] as number,
        first: rows[i] as number,
        last: steps.n - 1,
        why: events.reason[i] as string,
        end: "",
      };
      held.set(job, pin);
      pins.push(pin);
    } else if (events.kind[i] === "unpin") {
      const pin = held.get(job);
      if (pin !== undefined) [pin.last, pin.end] = [(rows[i] as number) - 1, events.reason[i] as string];
      held.delete(job);
    }
  }
  return pins.filter((pin) => pin.first <= pin.last);
}

/**
 * Copies with their ends: a link serves its copies in the order they were asked for, so one ends in the step
 * in which as many bytes have moved as were asked for up to it.
 */
export function transfersOf(steps: Steps, events: Events, rows: Int32Array): Transfer[] {
  const transfers: Transfer[] = [];
  for (const toHost of [false, true]) {
    const link = new Link(toHost ? steps.toHost : steps.toDevice);
    const kinds = toHost ? TO_HOST : TO_DEVICE;
    for (let i = 0; i < events.n; ++i) {
      if (!kinds.has(events.kind[i] as string) || events.reason[i] === "load_failed") continue;
      const first = Math.min(rows[i] as number, steps.n - 1);
      const bytes = events.bytes[i] as number;
      transfers.push({
        kind: events.kind[i] as string,
        reason: events.reason[i] as string,
        toHost,
        job: events.job[i] as number,
        turn: events.turn[i] as number,
        blocks: events.blocks[i] as number,
        bytes,
        first,
        last: link.end(first, bytes),
      });
    }
  }
  return transfers;
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
