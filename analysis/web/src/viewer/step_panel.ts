import { h, replace, type Child } from "@/shared/dom";
import { bytes, num, seconds } from "@/shared/format";
import type { Indexed } from "./indexed";
import { at, kindOf, reasonOf, type Trace } from "./model";
import { STOP_WORDS, viewStep, type Request, type StepView } from "./step_view";

const SHOWN = 256; // rows of a list; the rest is counted

function table(caption: string, heads: string[], rows: Child[][], numbers: number): HTMLElement {
  const cell = (tag: "th" | "td", i: number, child: Child) =>
    h(tag, { class: i >= heads.length - numbers ? "n" : "" }, child);
  const more = rows.length - SHOWN;
  return h(
    "div",
    { class: "scroll list", tabindex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ...heads.map((head, i) => cell("th", i, head)))),
      h("tbody", {}, ...rows.slice(0, SHOWN).map((row) => h("tr", {}, ...row.map((child, i) => cell("td", i, child))))),
    ),
    more > 0 && h("p", { class: "muted" }, `and ${num(more)} more`),
  );
}

function fact(name: string, value: Child): HTMLElement {
  return h("div", { class: "fact" }, h("span", { class: "muted" }, name), h("b", {}, value));
}

function section(name: string, title: string, note: Child, ...children: Child[]): HTMLElement {
  return h("section", { class: "part", "data-part": name }, h("h3", {}, title, " ", h("small", { class: "muted" }, note)), ...children);
}

/** One step: what it computed, who ran, who waited and why, and where KV was. */
export class StepPanel {
  private row = -1;

  constructor(
    private readonly element: HTMLElement,
    private readonly indexed: Indexed,
    private readonly openJob: (id: string) => void,
  ) {}

  show(row: number): void {
    if (row === this.row) return;
    this.row = row;
    const { trace } = this.indexed;
    if (trace.steps.n === 0) {
      replace(this.element, h("p", { class: "muted" }, "This trace has no steps."));
      return;
    }
    const view = viewStep(this.indexed, row);
    replace(
      this.element,
      this.facts(row),
      this.blocks(row),
      this.requests(view),
      this.queue(view),
      this.pins(view),
      this.transfers(view),
      this.events(view),
    );
  }

  private facts(row: number): HTMLElement {
    const { steps } = this.indexed.trace;
    const value = (column: Parameters<typeof at>[0]) => num(at(column, row));
    return h(
      "div",
      { class: "facts", "data-part": "facts" },
      fact("step", value(steps.number)),
      fact("at", seconds(at(steps.start, row))),
      fact("took", seconds(at(steps.duration, row))),
      fact("prefill tokens", value(steps.prefill)),
      fact("decode tokens", value(steps.decodes)),
      fact("largest share", value(steps.largest)),
      fact("running", value(steps.running)),
      fact("waiting", value(steps.waiting)),
      fact("preempted", value(steps.preempted)),
    );
  }

  private blocks(row: number): HTMLElement {
    const { steps } = this.indexed.trace;
    const states: [string, number, string][] = [
      ["held", at(steps.used, row), "--series-1"],
      ["pinned", at(steps.pinned, row), "--series-4"],
      ["cached", at(steps.cached, row), "--series-5"],
      ["empty", at(steps.empty, row), "--series-8"],
    ];
    const known = states.filter(([, count]) => !Number.isNaN(count));
    const total = known.reduce((sum, [, count]) => sum + count, 0);
    const share = (count: number) => (total > 0 ? (100 * count) / total : 0);
    const bar = known.map(([name, count, color]) =>
      h("span", { style: `width:${share(count)}%;background:var(${color})`, title: `${name}: ${num(count)}` }));
    const legend = known.map(([name, count, color]) =>
      h("span", { class: "key" }, h("i", { style: `background:var(${color})` }), `${name} ${num(count)} (${num(share(count), 2)} %)`));
    const host = at(steps.hostTotal, row);
    return section(
      "blocks",
      "KV blocks",
      `${num(total)} on the GPU`,
      h("div", { class: "bar", role: "img", "aria-label": known.map(([name, count]) => `${name} ${count}`).join(", ") }, ...bar),
      h("div", { class: "keys" }, ...legend),
      host > 0 && h("p", { class: "muted" }, `host memory: ${num(at(steps.hostUsed, row))} of ${num(host)} blocks`),
    );
  }

  private jobLink(id: string): HTMLElement {
    return h("button", { type: "button", class: "link", title: "Show this job", onclick: () => this.openJob(id) }, id);
  }

  private requests(view: StepView): HTMLElement {
    const rows = (requests: Request[]) =>
      requests.map((each): Child[] => [
        this.jobLink(each.job),
        num(each.number),
        phase(each),
        num(each.tokens),
        num(each.before),
        num(each.prompt),
      ]);
    const heads = ["job", "turn", "phase", "tokens", "before", "prompt"];
    return section(
      "running",
      "Running",
      num(view.running.length),
      view.running.length > 0 && table("Running requests", heads, rows(view.running), 3),
      view.preempted.length > 0 &&
        h("p", { class: "warn", "data-part": "preempted" }, "preempted: ", ...view.preempted.flatMap((each) => [this.jobLink(each.job), ` turn ${each.number} `])),
    );
  }

  private queue(view: StepView): HTMLElement {
    const { steps, turns } = this.indexed.trace;
    const now = at(steps.start, view.row);
    const rows = view.waiting.map((each): Child[] => [
      this.jobLink(each.job),
      num(each.number),
      seconds(Math.max(0, now - (each.since > 0 ? at(steps.start, each.since) : at(turns.arrive, each.turn)))),
      num(each.prompt),
    ]);
    const words = STOP_WORDS[view.stop] ?? view.stop;
    const loading = at(steps.loading, view.row);
    return section(
      "waiting",
      "Waiting",
      num(view.waiting.length),
      view.stop !== "" && h("p", { class: view.stop === "none" ? "muted" : "warn" }, `Admission: ${words} (${view.stop})`),
      loading > 0 && h("p", { class: "muted" }, `${num(loading)} wait for their KV to be loaded`),
      view.waiting.length > 0 && table("Waiting requests", ["job", "turn", "for", "prompt"], rows, 2),
    );
  }

  private pins(view: StepView): HTMLElement {
    const { jobs, steps } = this.indexed.trace;
    const now = at(steps.start, view.row);
    const rows = view.pins.map((pin): Child[] => [
      this.jobLink(jobs.id[pin.job] ?? "?"),
      pin.why,
      num(pin.blocks),
      seconds(now - pin.since),
      seconds(pin.deadline - now),
    ]);
    const heads = ["job", "why", "blocks", "held for", "TTL left"];
    return section("pins", "Pins", num(view.pins.length), view.pins.length > 0 && table("Pins", heads, rows, 3));
  }

  private transfers(view: StepView): HTMLElement {
    const { steps } = this.indexed.trace;
    const rows = view.transfers.map((each): Child[] => [
      each.kind,
      each.toHost ? "GPU → host" : "host → GPU",
      num(each.copies),
      num(each.blocks),
      bytes(each.bytes),
    ]);
    const moved = `${bytes(at(steps.toDevice, view.row))} to the GPU and ${bytes(at(steps.toHost, view.row))} to the host in this step`;
    const heads = ["class", "direction", "copies", "blocks", "size"];
    return section(
      "transfers",
      "Transfers in flight",
      steps.toDevice === null ? "not in this trace" : moved,
      rows.length > 0 && table("Transfers in flight", heads, rows, 3),
    );
  }

  private events(view: StepView): HTMLElement {
    const { events, jobs } = this.indexed.trace;
    const rows = view.events.map((row): Child[] => {
      const by = jobs.id[at(events.byJob, row)];
      return [
        kindOf(events, row),
        reasonOf(events, row),
        at(events.job, row) >= 0 ? this.jobLink(jobs.id[at(events.job, row)] ?? "?") : "",
        by === undefined ? "" : this.jobLink(by),
        num(at(events.blocks, row)),
      ];
    });
    const heads = ["what", "why", "whose", "for", "blocks"];
    return section("events", "KV events", num(rows.length), rows.length > 0 && table("KV events", heads, rows, 1));
  }
}

function phase(request: Request): string {
  if (request.kind === "idle") return "not in this step";
  const prefill = request.before < request.prompt || request.tokens > 1;
  const name = prefill ? "prefill" : "decode";
  return request.kind === "running" ? name : `${name}, ${request.kind === "new" ? "admitted" : request.kind}`;
}

export function stepSummary(trace: Trace, row: number): string {
  const { steps } = trace;
  return `step ${num(at(steps.number, row))} of ${num(steps.n)}, ${seconds(at(steps.start, row))}`;
}
