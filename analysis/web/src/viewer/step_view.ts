import type { Pin } from "./kv_history";
import { eventsOfRow, type Indexed } from "./indexed";
import { KINDS, kindOf } from "./model";

export interface Request {
  turn: number; // row of Turns
  job: string;
  number: number; // the turn's, in its job
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

/** All that the viewer shows of a step. */
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
  preempted: "the step preempted, so nobody was admitted",
  active_programs: "as many jobs are active as may be",
  remote_wait: "the next request's KV is still being loaded",
};

function request(indexed: Indexed, turn: number, since: number): Request {
  const { turns, jobs } = indexed.trace;
  return {
    turn,
    job: jobs.id[turns.job[turn] as number] ?? "?",
    number: turns.turn[turn] as number,
    kind: "idle",
    tokens: 0,
    before: NaN,
    prompt: turns.prompt[turn] as number,
    since,
  };
}

/** Who runs gets what the step gives him; who was preempted in it is listed by itself as well. */
export function viewStep(indexed: Indexed, row: number): StepView {
  const { trace } = indexed;
  const { stays, shares, steps } = trace;
  const view: StepView = {
    row,
    running: [],
    waiting: [],
    preempted: [],
    pins: indexed.pinIndex.at(row).map((i) => indexed.pins[i] as Pin),
    transfers: classes(indexed, indexed.transferIndex.at(row)),
    events: eventsOfRow(indexed, row),
    stop: steps.stopNames[steps.stop[row] as number] ?? "",
  };
  const runs = new Map<number, Request>();
  for (const stay of indexed.stays.at(row)) {
    const found = request(indexed, stays.turn[stay] as number, stays.first[stay] as number);
    (stays.running[stay] ? view.running : view.waiting).push(found);
    if (stays.running[stay]) runs.set(found.turn, found);
  }
  for (const share of indexed.shares.at(row)) {
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

function classes(indexed: Indexed, spans: number[]): TransferClass[] {
  const { transfers, trace } = indexed;
  const found = new Map<string, TransferClass>();
  for (const span of spans) {
    const event = transfers.event[span] as number;
    const [kind, toHost] = [kindOf(trace.events, event), transfers.toHost[span] === 1];
    const name = `${kind} ${String(toHost)}`;
    const sum = found.get(name) ?? { kind, toHost, copies: 0, blocks: 0, bytes: 0 };
    sum.copies += 1;
    sum.blocks += trace.events.blocks[event] as number;
    sum.bytes += trace.events.bytes[event] as number;
    found.set(name, sum);
  }
  return [...found.values()];
}
