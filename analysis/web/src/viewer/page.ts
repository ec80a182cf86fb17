import { inflate, unpack, type Deflated, type Numbers, type Packed } from "@/shared/columns";
import { PARTS, type Events, type Jobs, type Shares, type Stays, type Steps, type Trace, type Turns } from "./model";

type PageColumn = Packed | Deflated | { same: number | null; rows: number } | { from: number; rows: number };

interface PageTable {
  rows: number;
  columns: Record<string, PageColumn>;
  names?: Record<string, string[]>;
}

/** What `kvsweep trace --view` writes (analysis/trace_page.hpp). */
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

/** Two kinds of arrays alone: code that reads many kinds is slow. */
function plain(values: Numbers): Float64Array | Int32Array {
  const real = values instanceof Float64Array || values instanceof Float32Array || values instanceof Uint32Array;
  return real ? new Float64Array(values) : new Int32Array(values);
}

async function numbersOf(column: Exclude<PageColumn, string[]>): Promise<Numbers> {
  if ("same" in column) return plain(new Float64Array(column.rows).fill(column.same ?? NaN));
  if ("from" in column) return Int32Array.from({ length: column.rows }, (_, row) => column.from + row);
  return plain("deflated" in column ? await inflate(column) : unpack(column));
}

function isTexts(column: PageColumn): column is string[] {
  return Array.isArray(column) && typeof column[0] !== "number";
}

class TableReader {
  private constructor(
    private readonly table: PageTable,
    private readonly columns: Map<string, Numbers>,
  ) {}

  static async open(table: PageTable): Promise<TableReader> {
    const columns = new Map<string, Numbers>();
    const read = Object.entries(table.columns).map(async ([name, column]) => {
      if (!isTexts(column)) columns.set(name, await numbersOf(column));
    });
    await Promise.all(read);
    return new TableReader(table, columns);
  }

  get rows(): number {
    return this.table.rows;
  }

  maybe(name: string): Numbers | null {
    return this.columns.get(name) ?? null;
  }

  numbers(name: string): Numbers {
    return this.maybe(name) ?? new Float64Array(this.rows).fill(NaN);
  }

  texts(name: string): string[] {
    const column = this.table.columns[name];
    return Array.isArray(column) ? column.map(String) : Array<string>(this.rows).fill("");
  }

  names(name: string): string[] {
    return this.table.names?.[name] ?? [];
  }
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

function eventsOf(table: TableReader): Events {
  return {
    n: table.rows,
    step: table.numbers("step"),
    time: table.numbers("t_s"),
    job: table.numbers("job"),
    turn: table.numbers("turn"),
    kind: table.numbers("kind"),
    kinds: table.names("kind"),
    reason: table.numbers("reason"),
    reasons: table.names("reason"),
    blocks: table.numbers("blocks"),
    bytes: table.numbers("bytes"),
    byJob: table.numbers("by_job"),
    byTurn: table.numbers("by_turn"),
    deadline: table.numbers("deadline_s"),
  };
}

type SixReaders = [TableReader, TableReader, TableReader, TableReader, TableReader, TableReader];

const SHOWN_NOTES = ["policy", "model", "cost_model", "gpu_name", "sku", "connector", "block_size"];

/** Rows of /jobs are in the order of their numbers, so that a job's number is its row. */
export async function traceOfPage(archive: string, cell: PageCell): Promise<Trace> {
  const shown = SHOWN_NOTES.filter((name) => cell.notes[name]);
  const tables = [cell.steps, cell.jobs, cell.turns, cell.shares, cell.stays, cell.kv_events].map(TableReader.open);
  const [steps, jobs, turns, shares, stays, events] = (await Promise.all(tables)) as SixReaders;
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
    steps: stepsOf(steps),
    jobs: jobsOf(jobs),
    turns: turnsOf(turns),
    shares: sharesOf(shares),
    stays: staysOf(stays),
    events: eventsOf(events),
    pins: null,
  };
}
