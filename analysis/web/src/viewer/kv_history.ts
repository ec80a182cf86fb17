import { Groups, groupsOf, SpanIndex } from "./span_index";
import { codesOf, lastNotAbove, type Events, type KvData, type Spans, type Steps } from "./model";

const TO_DEVICE = ["load", "prefetch", "swap_in"];
const TO_HOST = ["store", "demote", "swap_out"];

/** The columns of the steps that their KV history needs. */
export type StepClock = Pick<Steps, "n" | "number" | "start" | "toDevice" | "toHost">;

export function kvData(steps: StepClock, events: Events, jobs: number): KvData {
  const rows = rowsOfEvents(steps, events);
  return {
    events,
    rows,
    ofJob: groupsOf(events.job, jobs),
    lost: lostBlocks(events, jobs),
    pins: pinsOf(steps, events, rows),
    toDevice: transfersOf(steps, events, rows, false),
    toHost: transfersOf(steps, events, rows, true),
  };
}

/** The row that includes an event: its own step's for events at the step's start, otherwise the next one's. */
function rowsOfEvents(steps: StepClock, events: Events): Int32Array {
  const rows = new Int32Array(events.n);
  let row = 0;
  for (let i = 0; i < events.n; ++i) {
    const step = events.step[i] as number; // mostly that of the preceding event
    if (steps.number[row] !== step) row = Math.max(0, lastNotAbove(steps.number, step));
    rows[i] = (events.time[i] as number) <= (steps.start[row] as number) ? row : row + 1;
  }
  return rows;
}

function lostBlocks(events: Events, jobs: number): Float64Array {
  const lost = new Float64Array(jobs);
  const evicted = events.kinds.indexOf("evict_gpu");
  for (let i = 0; i < events.n; ++i) {
    const job = events.job[i] as number;
    if (events.kind[i] === evicted && job >= 0) lost[job]! += events.blocks[i] as number;
  }
  return lost;
}

function filled(length: number, fill: (spans: Spans) => number): Spans {
  const spans = { event: new Int32Array(length), first: new Int32Array(length), last: new Int32Array(length) };
  const used = fill(spans);
  return { event: spans.event.slice(0, used), first: spans.first.slice(0, used), last: spans.last.slice(0, used) };
}

function count(events: Events, wanted: boolean[]): number {
  let found = 0;
  for (let i = 0; i < events.n; ++i) if (wanted[events.kind[i] as number]) ++found;
  return found;
}

/** From the row in which a job's KV was pinned to the last before it was unpinned. */
function pinsOf(steps: StepClock, events: Events, rows: Int32Array): Spans {
  const [pin, unpin] = [events.kinds.indexOf("pin"), events.kinds.indexOf("unpin")];
  const held = new Map<number, number>(); // by job
  return filled(count(events, codesOf(events.kinds, ["pin"])), ({ event, first, last }) => {
    let pins = 0;
    for (let i = 0; i < events.n; ++i) {
      const job = events.job[i] as number;
      if (events.kind[i] === pin) {
        held.set(job, pins);
        [event[pins], first[pins], last[pins]] = [i, rows[i]!, steps.n - 1];
        ++pins;
      } else if (events.kind[i] === unpin) {
        const ended = held.get(job);
        if (ended !== undefined) last[ended] = rows[i]! - 1;
        held.delete(job);
      }
    }
    return pins;
  });
}

/**
 * Copies from the row that issued one to the row in which it ended: a link serves its copies in the order of
 * issue, so a copy ends in the step by which all bytes issued up to it have moved.
 */
function transfersOf(steps: StepClock, events: Events, rows: Int32Array, toHost: boolean): Spans {
  const failed = events.reasons.indexOf("load_failed");
  const link = new Link(toHost ? steps.toHost : steps.toDevice);
  const wanted = codesOf(events.kinds, toHost ? TO_HOST : TO_DEVICE);
  return filled(count(events, wanted), ({ event, first, last }) => {
    let copies = 0;
    for (let i = 0; i < events.n; ++i) {
      if (!wanted[events.kind[i] as number] || (failed >= 0 && events.reason[i] === failed)) continue;
      const from = Math.min(rows[i]!, steps.n - 1);
      [event[copies], first[copies], last[copies]] = [i, from, link.end(from, events.bytes[i] as number)];
      ++copies;
    }
    return copies;
  });
}

class Link {
  private asked = 0;
  private moved = 0;
  private row = -1;

  constructor(private readonly bytes: Steps["toHost"]) {}

  /** The row in which the next copy, issued in row `first`, ends. */
  end(first: number, bytes: number): number {
    if (this.bytes === null) return first;
    this.asked += bytes;
    while (this.row + 1 < this.bytes.length && (this.moved < this.asked || this.row < first)) {
      this.moved += this.bytes[++this.row] as number;
    }
    return Math.max(first, this.row);
  }
}

/** Finds the KV events of a step or of a job. */
export class KvHistory {
  private readonly ofJob: Groups;
  private readonly pins: SpanIndex;

  constructor(readonly data: KvData) {
    this.ofJob = new Groups(data.ofJob);
    this.pins = new SpanIndex(data.pins.first, data.pins.last);
  }

  get events(): Events {
    return this.data.events;
  }

  /** Events that count in a row of Steps. */
  ofRow(row: number): number[] {
    const { rows } = this.data;
    const [from, to] = [lastNotAbove(rows, row - 1) + 1, lastNotAbove(rows, row) + 1];
    return Array.from({ length: to - from }, (_, i) => from + i);
  }

  /** Events that are about a job. */
  eventsOfJob(job: number): Int32Array {
    return this.ofJob.of(job);
  }

  /** The events that started the pins held in a row. */
  pinsAt(row: number): number[] {
    return this.pins.at(row).map((pin) => this.data.pins.event[pin] as number);
  }

  /** The events that issued the copies in flight in a row, in one direction. */
  transfersAt(row: number, toHost: boolean): Int32Array {
    const { event, first, last } = toHost ? this.data.toHost : this.data.toDevice;
    return event.subarray(lastNotAbove(last, row - 1) + 1, lastNotAbove(first, row) + 1);
  }
}
