import { readKv } from "./kv_reading";
import { PARTS, type Jobs, type Shares, type Stays, type Steps, type Trace, type Turns } from "./model";
import { needsStepTimes } from "./page_events";
import { TableReader, type PageTable } from "./page_table";

/** The data of `kvsweep trace --view` (analysis/trace/page.hpp). */
export interface PageCell {
  cell: number;
  key: string;
  label: string;
  backend: string;
  notes: Record<string, string>;
  figures: Record<string, number | null>;
  steps: PageTable;
  jobs: PageTable;
  turns: PageTable;
  kv_events: PageTable;
  shares: PageTable;
  stays: PageTable;
}

export interface TracePage {
  kind: "trace";
  archive: string;
  cells: PageCell[];
}

/** The times of steps are sums of durations, as whole numbers. */
async function openSteps(page: PageTable): Promise<TableReader> {
  const table = await TableReader.open(page);
  const start = page.columns["t_s"];
  if (start === undefined || !("ints" in start) || start.sum === undefined) return table;
  const durations = table.whole("dur_s", start.scale);
  const elapsed = new Float64Array(table.rows);
  for (let row = 1; row < elapsed.length; ++row) elapsed[row] = (elapsed[row - 1] as number) + (durations[row - 1] as number);
  table.give("elapsed", elapsed);
  return table;
}

function stepsOf(table: TableReader): Steps {
  return {
    n: table.rows,
    number: table.numbers("step"),
    start: table.numbers("t_s"),
    duration: table.numbers("dur_s"),
    tokens: table.numbers("n_tok"),
    largest: table.maybe("max_tok"),
    prefill: table.numbers("n_prefill_tok"),
    decodes: table.numbers("n_decode"),
    running: table.numbers("n_running"),
    waiting: table.numbers("n_waiting"),
    preempted: table.numbers("n_preempted"),
    used: table.numbers("blk_used"),
    pinned: table.numbers("blk_pinned"),
    cached: table.maybe("blk_cached"),
    empty: table.numbers("blk_free"),
    hostUsed: table.maybe("host_blk_used"),
    hostTotal: table.maybe("host_blk_total"),
    loading: table.maybe("n_loading"),
    toDevice: table.maybe("h2d_bytes"),
    toHost: table.maybe("d2h_bytes"),
    stop: table.numbers("stop_reason"),
    stopNames: table.names("stop_reason"),
  };
}

function jobsOf(table: TableReader): Jobs {
  return {
    n: table.rows,
    id: table.texts("id"),
    arrive: table.numbers("t_arrive_s"),
    finish: table.numbers("t_finish_s"),
    turns: table.numbers("n_turns"),
    jct: table.numbers("jct_wall_s"),
    queue: table.numbers("queue_s"),
    preemptions: table.numbers("preemptions"),
  };
}

function turnsOf(table: TableReader): Turns {
  const columns = ["queue_s", "load_stall_s", "recompute_s", "prefill_s", "decode_s", "gap_s"];
  const parts = PARTS.map((part, i) => [part, table.numbers(columns[i] as string)]);
  return {
    n: table.rows,
    job: table.numbers("job"),
    turn: table.numbers("turn"),
    agent: table.numbers("agent"),
    parent: table.numbers("parent"),
    arrive: table.numbers("t_arrive_s"),
    admit: table.numbers("t_admit_s"),
    firstToken: table.numbers("t_first_token_s"),
    finish: table.numbers("t_finish_s"),
    prompt: table.numbers("prompt_tok"),
    output: table.numbers("output_tok"),
    cachedGpu: table.numbers("cached_gpu_tok"),
    cachedHost: table.numbers("cached_host_tok"),
    recomputed: table.numbers("recomputed_tok"),
    parts: Object.fromEntries(parts) as Turns["parts"],
    tool: table.texts("tool"),
  };
}

function sharesOf(table: TableReader): Shares {
  const [turn, kind, first] = [table.numbers("turn"), table.numbers("kind"), table.numbers("first")];
  const [count, tokens, before] = [table.numbers("count"), table.numbers("tokens"), table.numbers("before")];
  return { n: table.rows, turn, kind, first, count, tokens, before };
}

function staysOf(table: TableReader): Stays {
  const [turn, running] = [table.numbers("turn"), table.numbers("running")];
  return { n: table.rows, turn, running, first: table.numbers("first"), last: table.numbers("last") };
}

type FourReaders = [TableReader, TableReader, TableReader, TableReader];

const SHOWN_NOTES = ["policy", "model", "cost_model", "gpu_name", "sku", "connector", "block_size"];

/** Rows of /jobs are in the order of their numbers, so that a job's number is its row. */
export async function traceOfPage(archive: string, cell: PageCell): Promise<Trace> {
  const shown = SHOWN_NOTES.filter((name) => cell.notes[name]);
  const stepTable = await openSteps(cell.steps);
  const steps = stepsOf(stepTable);
  const kv = readKv({
    table: cell.kv_events,
    steps: { n: steps.n, number: steps.number, start: steps.start, toDevice: steps.toDevice, toHost: steps.toHost },
    times: needsStepTimes(cell.kv_events) ? { starts: stepTable.whole("t_s"), durations: stepTable.whole("dur_s") } : null,
    jobs: cell.jobs.rows,
  });
  const tables = [cell.jobs, cell.turns, cell.shares, cell.stays].map(TableReader.open);
  const [jobs, turns, shares, stays] = (await Promise.all(tables)) as FourReaders;
  return {
    title: cell.label,
    policy: cell.notes["policy"] ?? "",
    origin: cell.backend === "sim" ? "modelled" : "measured",
    facts: [
      ["archive", archive],
      ["cell", `${cell.cell} (${cell.key.slice(0, 8)})`],
      ["backend", cell.backend],
      ...shown.map((name): [string, string] => [name, cell.notes[name] as string]),
    ],
    steps,
    jobs: jobsOf(jobs),
    turns: turnsOf(turns),
    shares: sharesOf(shares),
    stays: staysOf(stays),
    kv,
    pins: null,
  };
}
