import { empty, Names, Presence, Rows } from "./jsonl_rows";
import { EVENT, JOB, KINDS, PARTS, SHARE, STEP, TURN, type Jobs, type Part, type Steps, type Trace } from "./model";

type Line = Record<string, unknown>;

const number = (value: unknown): number => (typeof value === "number" ? value : NaN);
const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
const record = (value: unknown): Line => (value !== null && typeof value === "object" ? (value as Line) : {});
const or = (value: number, otherwise: number): number => (Number.isNaN(value) ? otherwise : value);

// Columns, and the members of the lines that hold them.
const REQUEST_TIMES = [["arrive", "arrival_time"], ["admit", "admit_time"], ["firstToken", "first_token_time"], ["finish", "finish_time"]] as const;
const REQUEST_TOKENS = [["prompt", "num_prompt_tokens"], ["output", "num_output_tokens"], ["recomputed", "num_recomputed_tokens"]] as const;
const JOB_TIMES = [["arrive", "arrival_time"], ["finish", "finish_time"]] as const;
const JOB_NUMBERS = [["turns", "n_turns"], ["jct", "jct_wall_s"], ["queue", "queue_s"], ["preemptions", "num_preemptions"]] as const;
const BLOCKS = [["hostUsed", "host_blocks"], ["hostTotal", "total_host_blocks"], ["loading", "num_loading"]] as const;

/**
 * Builds a trace from JSON lines: *.steps.jsonl (step_snapshot, prefix_cache_lookup, step_decision), *.requests.jsonl and
 * *.events.jsonl of `kvsweep run --jsonl`, and traces with the same field names from elsewhere, where many may be
 * missing. Lines may come in any order of files; those of one file in theirs.
 */
export class JsonlTrace {
  private readonly steps = new Rows(STEP);
  private readonly turns = new Rows(TURN);
  private readonly jobs = new Rows(JOB);
  private readonly shares = new Rows(SHARE);
  private readonly events = new Rows(EVENT);
  private readonly presence = new Presence();
  private readonly pins = new Presence();
  private readonly turnOfRequest = new Map<string, number>();
  private readonly jobOfId = new Map<string, number>();
  private readonly jobIds: string[] = [];
  private readonly turnsOfJob: number[] = []; // how many
  private readonly tools: string[] = [];
  private readonly eventKinds = new Names();
  private readonly eventReasons = new Names();
  private readonly stops = new Names("");
  private readonly latestShare = new Map<number, number>(); // by turn
  private readonly rowOfStep = new Map<number, number>();
  private running = new Set<number>();
  private waiting: number[] = [];
  private row = -1; // of the latest snapshot
  private zero = NaN;
  private policy = "";
  private cell = "";

  constructor(private readonly name: string) {}

  /** Adds a line; false if it is not part of a trace. Throws SyntaxError if it is not JSON. */
  add(text: string): boolean {
    if (text.trim() === "") return true;
    const line = record(JSON.parse(text));
    if (typeof line["policy"] === "string") this.policy = line["policy"];
    if (typeof line["cell"] === "string") this.cell = line["cell"];
    const event = line["event"];
    if (event === "step_snapshot") this.snapshot(line);
    else if (event === "step_decision") this.decision(line);
    else if (event === "prefix_cache_lookup") this.lookup(line);
    else if (event === "kv_event") this.kvEvent(line);
    else if (event === "job") this.job(line);
    else if (line["req_id"] !== undefined && line["arrival_time"] !== undefined) this.request(line);
    else return false;
    return true;
  }

  /** Unix times are converted to times since the trace's first one. */
  private time(value: unknown): number {
    const seconds = number(value);
    if (Number.isNaN(this.zero) && !Number.isNaN(seconds)) this.zero = seconds > 1e8 ? seconds : 0;
    return seconds - this.zero;
  }

  private jobRow(id: string): number {
    const known = this.jobOfId.get(id);
    if (known !== undefined) return known;
    this.jobOfId.set(id, this.jobs.n);
    this.jobIds.push(id);
    this.turnsOfJob.push(0);
    return this.jobs.add(empty(JOB));
  }

  /** A request's row. Its job is the one given, or the text before the last colon of its name. */
  private turnRow(name: string, job: unknown = undefined): number {
    const known = this.turnOfRequest.get(name);
    if (known !== undefined) return known;
    const colon = name.lastIndexOf(":");
    const jobName = typeof job === "string" ? job : colon > 0 ? name.slice(0, colon) : name;
    const row = this.jobRow(jobName);
    const told = colon > 0 ? Number(name.slice(colon + 1)) : NaN;
    const turn = Number.isInteger(told) ? told : (this.turnsOfJob[row] as number);
    this.turnsOfJob[row] = (this.turnsOfJob[row] as number) + 1;
    const made = this.turns.add({ ...empty(TURN), job: row, turn, agent: 0, parent: 0 });
    this.tools.push("");
    this.turnOfRequest.set(name, made);
    return made;
  }

  private requests(names: unknown, jobs: unknown = undefined): number[] {
    const ids = texts(jobs);
    return texts(names).map((name, i) => this.turnRow(name, ids[i]));
  }

  private stepRow(line: Line): number {
    const step = number(line["step"]);
    const known = this.rowOfStep.get(step);
    if (known !== undefined) return known;
    const row = this.steps.add({ ...empty(STEP), number: step, start: this.time(line["ts"]), stop: 0 });
    this.rowOfStep.set(step, row);
    return row;
  }

  private snapshot(line: Line): void {
    this.notePresence();
    const row = this.stepRow(line);
    this.running = new Set(this.requests(line["running_req_ids"], line["running_job_ids"]));
    this.waiting = this.requests(line["waiting_req_ids"], line["waiting_job_ids"]);
    this.steps.set(row, "running", or(number(line["num_running"]), this.running.size));
    this.steps.set(row, "waiting", or(number(line["num_waiting"]), this.waiting.length));
    this.blocks(row, line);
    this.row = row;
    this.pins.note(row, new Set(texts(line["pinned_job_ids"]).map((id) => this.jobRow(id))), []);
  }

  /** Of the latest step, once all its lines have been read. */
  private notePresence(): void {
    if (this.row >= 0) this.presence.note(this.row, this.running, this.waiting);
  }

  private blocks(row: number, line: Line): void {
    const states = record(line["blocks_by_state"]);
    const pinned = or(number(states["pinned"]), or(number(line["pinned_blocks"]), 0));
    const free = number(line["free_blocks"]);
    this.steps.set(row, "pinned", pinned);
    this.steps.set(row, "cached", number(states["cached"]));
    for (const [name, key] of BLOCKS) this.steps.set(row, name, number(line[key]));
    this.steps.set(row, "empty", or(number(states["empty"]), free));
    this.steps.set(row, "used", or(number(states["alloc"]), number(line["total_blocks"]) - free - pinned));
  }

  /** A snapshot taken before scheduling lacks the requests that the step admitted. */
  private decision(line: Line): void {
    const row = this.stepRow(line);
    const preempted = this.requests(line["preempted_req_ids"]);
    const kinds = [line["scheduled_new_req_ids"], line["scheduled_resumed_req_ids"], line["scheduled_running_req_ids"]];
    const scheduled = kinds.map((names) => this.requests(names));
    for (const turn of scheduled.flat()) this.running.add(turn);
    for (const turn of preempted) this.running.delete(turn);
    this.waiting = [...preempted, ...this.waiting];
    this.addShares(row, line, scheduled, preempted);
    this.totals(row, line, preempted.length);
  }

  private addShares(row: number, line: Line, scheduled: number[][], preempted: number[]): void {
    const tokens = record(line["num_scheduled_tokens"]);
    const before = record(line["num_computed_tokens_before"]);
    const kindOf = new Map<number, number>();
    scheduled.forEach((turns, kind) => turns.forEach((turn) => kindOf.set(turn, kind)));
    for (const [name, value] of Object.entries(tokens)) {
      const turn = this.turnRow(name);
      this.addShare(row, turn, kindOf.get(turn) ?? 2, number(value), number(before[name]));
    }
    for (const turn of preempted) this.addShare(row, turn, KINDS.indexOf("preempted"), 0, NaN);
  }

  private addShare(row: number, turn: number, kind: number, tokens: number, before: number): void {
    const { shares } = this;
    const share = this.latestShare.get(turn);
    const goesOn = share !== undefined && kind === 2 && shares.get(share, "kind") === 2 &&
      shares.get(share, "tokens") === tokens && shares.get(share, "last") + 1 === row;
    if (goesOn) shares.set(share, "last", row);
    else this.latestShare.set(turn, shares.add({ turn, kind, first: row, last: row, tokens, before }));
  }

  /** If the trace lacks the totals, a request with one token decodes, and one with more prefills. */
  private totals(row: number, line: Line, preempted: number): void {
    const each = Object.values(record(line["num_scheduled_tokens"])).map(number);
    const ones = each.filter((tokens) => tokens === 1).length;
    const total = or(number(line["total_num_scheduled_tokens"]), each.reduce((sum, tokens) => sum + tokens, 0));
    const decodes = or(number(line["num_decodes"]), ones);
    const set = (name: (typeof STEP)[number], value: number) => this.steps.set(row, name, value);
    set("tokens", total);
    set("decodes", decodes);
    set("prefill", or(number(line["num_prefill_tokens"]), total - decodes));
    set("largest", or(number(line["max_request_tokens"]), each.reduce((most, tokens) => Math.max(most, tokens), 0)));
    set("preempted", preempted);
    set("toDevice", number(line["h2d_bytes"]));
    set("toHost", number(line["d2h_bytes"]));
    set("duration", (typeof line["step_ms"] === "number" ? line["step_ms"] : number(record(line["step_ms"])["total"])) / 1e3);
    set("stop", typeof line["stop_reason"] === "string" ? this.stops.code(line["stop_reason"]) : 0);
  }

  private lookup(line: Line): void {
    const turn = this.turnRow(String(line["req_id"]), line["job_id"]);
    const set = (name: (typeof TURN)[number], value: number) => this.turns.set(turn, name, value);
    set("cachedGpu", number(line["local_hit_tokens"]));
    set("cachedHost", number(line["external_hit_tokens"]));
    set("prompt", or(this.turns.get(turn, "prompt"), number(line["total_prompt_tokens"])));
  }

  private kvEvent(line: Line): void {
    const job = (id: unknown) => (typeof id === "string" ? this.jobRow(id) : -1);
    const turn = (name: unknown) => (typeof name === "string" ? this.turns.get(this.turnRow(name), "turn") : -1);
    this.events.add({
      kind: this.eventKinds.code(String(line["kind"])),
      reason: this.eventReasons.code(String(line["reason"])),
      step: number(line["step"]),
      time: this.time(line["ts"]),
      job: job(line["job_id"]),
      turn: turn(line["req_id"]),
      blocks: number(line["blocks"]),
      bytes: number(line["bytes"]),
      byJob: job(line["by_job_id"]),
      byTurn: turn(line["by_req_id"]),
      deadline: number(line["deadline"]) - or(this.zero, 0),
    });
  }

  private request(line: Line): void {
    const turn = this.turnRow(String(line["req_id"]), line["job_id"]);
    const set = (name: (typeof TURN)[number], value: number) => this.turns.set(turn, name, value);
    const host = or(number(line["num_external_computed_tokens"]), 0);
    for (const [name, key] of REQUEST_TIMES) set(name, this.time(line[key]));
    for (const [name, key] of REQUEST_TOKENS) set(name, number(line[key]));
    set("turn", or(number(line["turn"]), this.turns.get(turn, "turn")));
    set("agent", or(number(line["agent"]), 0));
    set("parent", or(number(line["parent"]), 0));
    set("cachedHost", host);
    set("cachedGpu", or(number(line["num_cached_tokens"]) - host, this.turns.get(turn, "cachedGpu")));
    this.tools[turn] = typeof line["tool"] === "string" ? line["tool"] : "";
    this.partsOf(turn, line);
  }

  private partsOf(turn: number, line: Line): void {
    const when = (name: "arrive" | "admit" | "firstToken" | "finish") => this.turns.get(turn, name);
    const between: Partial<Record<Part, number>> = {
      queue: when("admit") - when("arrive"),
      prefill: when("firstToken") - when("admit"),
      decode: when("finish") - when("firstToken"),
    };
    for (const part of PARTS) {
      const told = number(line[part === "load" ? "load_stall_s" : `${part}_s`]);
      this.turns.set(turn, part, or(told, between[part] ?? NaN));
    }
  }

  private job(line: Line): void {
    const row = this.jobRow(String(line["job_id"]));
    for (const [name, key] of JOB_TIMES) this.jobs.set(row, name, this.time(line[key]));
    for (const [name, key] of JOB_NUMBERS) this.jobs.set(row, name, number(line[key]));
  }

  /** The trace from the lines so far. More may follow. */
  trace(): Trace {
    this.notePresence();
    return {
      title: this.cell || this.policy || this.name,
      policy: this.policy,
      origin: "unknown",
      facts: [["files", this.name], ...(this.policy ? [["policy", this.policy] as [string, string]] : [])],
      steps: this.stepTable(),
      jobs: this.jobTable(),
      turns: { ...this.turns.table(), tool: [...this.tools] },
      shares: this.shares.table(),
      stays: this.presence.stays(),
      events: { ...this.events.table(), kinds: [...this.eventKinds.all], reasons: [...this.eventReasons.all] },
      pins: this.events.n > 0 ? null : this.pins.stays(),
    };
  }

  /** A step without a duration lasts until the next one. */
  private stepTable(): Steps {
    const steps = this.steps.table(), { start, duration } = steps;
    duration.forEach((seconds, row) => {
      if (Number.isNaN(seconds)) duration[row] = Math.max(0, (start[row + 1] ?? start[row]!) - start[row]!);
    });
    return { ...steps, stopNames: [...this.stops.all] };
  }

  /** Derives values that job records lack from the turns. */
  private jobTable(): Jobs {
    const jobs = this.jobs.table(), { arrive, finish, jct, turns } = jobs;
    for (let turn = 0; turn < this.turns.n; ++turn) {
      const job = this.turns.get(turn, "job");
      const [from, to] = [this.turns.get(turn, "arrive"), this.turns.get(turn, "finish")];
      if (!(arrive[job]! <= from)) arrive[job] = or(from, arrive[job]!);
      if (!(finish[job]! >= to)) finish[job] = or(to, finish[job]!);
    }
    jct.forEach((seconds, job) => (jct[job] = or(seconds, finish[job]! - arrive[job]!)));
    turns.forEach((count, job) => (turns[job] = or(count, this.turnsOfJob[job]!)));
    return { ...jobs, id: [...this.jobIds] };
  }
}
