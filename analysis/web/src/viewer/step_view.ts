import type { Indexed } from "./indexed";
import { at, KINDS, kindOf, reasonOf, shownTurn, spansAt } from "./model";

/** Unknown numbers are NaN, unknown texts empty. */
export interface Pin {
  job: number; // row of Jobs
  why: string;
  blocks: number;
  since: number; // seconds
  deadline: number;
}

export interface Request {
  turn: number; // row of Turns
  job: string;
  number: number; // the turn's, in its job, from 1
  kind: (typeof KINDS)[number] | "idle"; // idle: running, but without a share of this step
  tokens: number;
  before: number;
  prompt: number;
  since: number; // the row since which it has been running or waiting
}

export interface TransferClass {
  kind: string;
  toHost: boolean;
  copies: number;
  blocks: number;
  bytes: number;
}

/** Everything that the viewer shows of a step. */
export interface StepView {
  row: number;
  running: Request[];
  waiting: Request[];
  preempted: Request[];
  pins: Pin[];
  transfers: TransferClass[];
  events: number[];
  stop: string;
}

/** Why admission stopped, in words. */
export const STOP_WORDS: Record<string, string> = {
  none: "nothing stopped it",
  tok_budget: "the step's token budget was used up",
  kv_insufficient: "too few free KV blocks for the next request",
  max_seqs: "as many requests run as may run",
  isl_reserve: "no room to reserve the next request's whole sequence",
  chunk_off: "the next prompt does not fit into the step, and prompts are not split",
  preempted: "the step preempted, so no request was admitted",
  active_programs: "as many jobs are active as may be",
};

function request(indexed: Indexed, turn: number, since: number): Request {
  const { turns, jobs } = indexed.trace;
  return {
    turn, job: jobs.id[at(turns.job, turn)] ?? "?", number: shownTurn(at(turns.turn, turn)), kind: "idle", tokens: 0, before: NaN,
    prompt: at(turns.prompt, turn), since,
  };
}

/** Running requests have their tokens of the step; requests preempted in it are also listed separately. */
export function viewStep(indexed: Indexed, row: number): StepView {
  const { trace } = indexed;
  const { stays, shares, steps } = trace;
  const view: StepView = {
    row,
    running: [],
    waiting: [],
    preempted: [],
    pins: pinsAt(indexed, row),
    transfers: [false, true].flatMap((toHost) => classes(indexed, row, toHost)),
    events: indexed.kv.ofRow(row),
    stop: steps.stopNames[steps.stop[row] as number] ?? "",
  };
  const runs = new Map<number, Request>();
  for (const stay of spansAt(stays, row)) {
    const found = request(indexed, stays.turn[stay] as number, stays.first[stay] as number);
    (stays.running[stay] ? view.running : view.waiting).push(found);
    if (stays.running[stay]) runs.set(found.turn, found);
  }
  const { turns } = trace;
  view.waiting.sort((a, b) => a.since - b.since || turns.arrive[a.turn]! - turns.arrive[b.turn]! || (a.job < b.job ? -1 : 1));
  for (const share of spansAt(shares, row)) {
    const turn = shares.turn[share] as number;
    const kind = KINDS[shares.kind[share] as number] ?? "running";
    if (kind === "preempted") {
      view.preempted.push({ ...request(indexed, turn, row), kind });
      continue;
    }
    const found = runs.get(turn) ?? request(indexed, turn, row);
    if (!runs.has(turn)) view.running.push(found);
    found.kind = kind;
    found.tokens = shares.tokens[share] as number;
    found.before = (shares.before[share] as number) + (row - (shares.first[share] as number)) * found.tokens;
  }
  return view;
}

function pinsAt(indexed: Indexed, row: number): Pin[] {
  const { pins, steps } = indexed.trace;
  if (pins !== null) {
    return spansAt(pins, row).map((pin) =>
      ({ job: at(pins.turn, pin), why: "", blocks: NaN, since: at(steps.start, at(pins.first, pin)), deadline: NaN }));
  }
  const { events } = indexed.kv;
  return indexed.kv.pinsAt(row).map((event) => ({
    job: at(events.job, event), why: reasonOf(events, event), blocks: at(events.blocks, event), since: at(events.time, event), deadline: at(events.deadline, event),
  }));
}

function classes({ kv }: Indexed, row: number, toHost: boolean): TransferClass[] {
  const found = new Map<string, TransferClass>();
  for (const event of kv.transfersAt(row, toHost)) {
    const kind = kindOf(kv.events, event);
    const sum = found.get(kind) ?? { kind, toHost, copies: 0, blocks: 0, bytes: 0 };
    sum.copies += 1;
    sum.blocks += kv.events.blocks[event] as number;
    sum.bytes += kv.events.bytes[event] as number;
    found.set(kind, sum);
  }
  return [...found.values()];
}
