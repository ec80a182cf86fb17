import { Groups, SpanIndex } from "./span_index";
import { pinsOf, rowsOfEvents, transfersOf, type Pin, type Transfers } from "./kv_history";
import { lastNotAbove, type Trace } from "./model";

/** A trace with what finding things in it needs. */
export interface Indexed {
  trace: Trace;
  shares: SpanIndex;
  stays: SpanIndex;
  pins: Pin[];
  pinIndex: SpanIndex;
  transfers: Transfers;
  transferIndex: SpanIndex;
  eventRows: Int32Array;
  turnsOfJob: Groups;
  jobOfId: Map<string, number>;
}

/** Rows of Events that count in a row of Steps; both are in the order of time. */
export function eventsOfRow(indexed: Indexed, row: number): number[] {
  const last = lastNotAbove(indexed.eventRows, row);
  const found: number[] = [];
  for (let event = last; event >= 0 && indexed.eventRows[event] === row; --event) found.unshift(event);
  return found;
}

/** Rows of Events that are about a job. */
export function eventsOfJob(indexed: Indexed, job: number): number[] {
  const jobs = new Int32Array(indexed.trace.events.job);
  const found: number[] = [];
  for (let event = 0; event < jobs.length; ++event) if (jobs[event] === job) found.push(event);
  return found;
}

function spans(of: { first: number; last: number }[], rows: number): SpanIndex {
  return new SpanIndex(
    Int32Array.from(of, (span) => span.first),
    Int32Array.from(of, (span) => span.last),
    rows,
  );
}

export function index(trace: Trace): Indexed {
  const { steps, shares, stays, events, jobs, turns } = trace;
  const eventRows = rowsOfEvents(steps, events);
  const pins = trace.pins === null ? pinsOf(steps, events, eventRows) : listedPins(trace);
  const transfers = transfersOf(steps, events, eventRows);
  const lastOfShare = Int32Array.from(shares.first, (first, i) => first + (shares.count[i] as number) - 1);
  return {
    trace,
    shares: new SpanIndex(shares.first, lastOfShare, steps.n),
    stays: new SpanIndex(stays.first, stays.last, steps.n),
    pins,
    pinIndex: spans(pins, steps.n),
    transfers,
    transferIndex: new SpanIndex(transfers.first, transfers.last, steps.n),
    eventRows,
    turnsOfJob: new Groups(turns.job, jobs.n),
    jobOfId: new Map(jobs.id.map((id, row) => [id, row])),
  };
}

function listedPins(trace: Trace): Pin[] {
  const { pins, steps } = trace;
  if (pins === null) return [];
  return Array.from({ length: pins.n }, (_, i) => ({
    job: pins.turn[i] as number,
    turn: NaN,
    blocks: NaN,
    since: steps.start[pins.first[i] as number] as number,
    deadline: NaN,
    first: pins.first[i] as number,
    last: pins.last[i] as number,
    why: "",
    end: "",
  }));
}
