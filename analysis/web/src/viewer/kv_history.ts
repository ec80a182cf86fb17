import type { Numbers } from "@/shared/columns";
import { at, groupsOf, kindOf, lastNotAbove, reasonOf, type Events, type Steps } from "./model";

const TO_DEVICE = ["load", "prefetch", "swap_in"];
const TO_HOST = ["store", "demote", "swap_out"];

/** An event that starts a state, and the rows of Steps in which it holds. */
interface Held {
  event: number;
  first: number;
  last: number;
}

const heldAt = (all: Held[], row: number): number[] => all.filter(({ first, last }) => first <= row && row <= last).map(({ event }) => event);

/** What follows from the KV events of a trace, by step and by job. */
export class KvHistory {
  private readonly rows: Int32Array; // of each event, the row of Steps that includes it; ascending
  private readonly ofJob: number[][];
  private readonly pins: Held[];
  private readonly copies: { toDevice: Held[]; toHost: Held[] };
  /** Blocks that a job lost on the GPU. */
  readonly lost: Float64Array;

  constructor(steps: Steps, readonly events: Events, jobs: number) {
    this.rows = rowsOfEvents(steps, events);
    this.ofJob = groupsOf(events.job, jobs);
    this.pins = pinsOf(steps.n, events, this.rows);
    this.copies = {
      toDevice: copiesOf(steps.n, events, this.rows, TO_DEVICE, steps.toDevice),
      toHost: copiesOf(steps.n, events, this.rows, TO_HOST, steps.toHost),
    };
    const lost = (row: number) => (kindOf(events, row) === "evict_gpu" ? at(events.blocks, row) : 0);
    this.lost = Float64Array.from(this.ofJob, (own) => own.reduce((sum, row) => sum + lost(row), 0));
  }

  /** Events that count in a row of Steps. */
  ofRow(row: number): number[] {
    const from = lastNotAbove(this.rows, row - 1) + 1;
    return Array.from({ length: lastNotAbove(this.rows, row) + 1 - from }, (_, i) => from + i);
  }

  /** Events that are about a job. */
  eventsOfJob = (job: number): number[] => this.ofJob[job] ?? [];

  /** The events that started the pins held in a row. */
  pinsAt = (row: number): number[] => heldAt(this.pins, row);

  /** The events that issued the copies in flight in a row, in one direction. */
  transfersAt = (row: number, toHost: boolean): number[] => heldAt(toHost ? this.copies.toHost : this.copies.toDevice, row);
}

/** The row that includes an event: its own step's for events at the step's start, otherwise the next one's. */
function rowsOfEvents(steps: Steps, events: Events): Int32Array {
  let row = 0;
  return Int32Array.from({ length: events.n }, (_, i) => {
    const step = at(events.step, i); // mostly that of the preceding event
    if (steps.number[row] !== step) row = Math.max(0, lastNotAbove(steps.number, step));
    return at(events.time, i) <= at(steps.start, row) ? row : row + 1;
  });
}

/** From the row in which a job's KV was pinned to the last before it was unpinned. */
function pinsOf(steps: number, events: Events, rows: Int32Array): Held[] {
  const pins: Held[] = [];
  const held = new Map<number, Held>(); // by job
  for (let event = 0; event < events.n; ++event) {
    const kind = kindOf(events, event), job = at(events.job, event);
    if (kind === "pin") {
      const pin = { event, first: rows[event]!, last: steps - 1 };
      pins.push(pin);
      held.set(job, pin);
    } else if (kind === "unpin") {
      const ended = held.get(job);
      if (ended) ended.last = rows[event]! - 1;
      held.delete(job);
    }
  }
  return pins;
}

/**
 * Copies from the row that issued one to the row in which it ended: a link serves its copies in the order of
 * issue, so a copy ends in the step by which all bytes issued up to it have moved.
 */
function copiesOf(steps: number, events: Events, rows: Int32Array, kinds: string[], bytes: Numbers): Held[] {
  const copies: Held[] = [];
  let asked = 0, moved = 0, row = -1;
  for (let event = 0; event < events.n; ++event) {
    if (!kinds.includes(kindOf(events, event)) || reasonOf(events, event) === "load_failed") continue;
    const first = Math.min(rows[event]!, steps - 1);
    asked += at(events.bytes, event);
    while (row + 1 < steps && (moved < asked || row < first)) moved += at(bytes, ++row);
    copies.push({ event, first, last: Number.isNaN(moved) ? first : Math.max(first, row) });
  }
  return copies;
}
