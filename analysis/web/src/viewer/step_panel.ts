import { h, replace, type Child } from "@/shared/dom";
import { bytes, num, seconds } from "@/shared/format";
import { BLOCK_STATES, MEANING } from "@/shared/meanings";
import type { Indexed } from "./indexed";
import { list } from "./list";
import { at, kindOf, reasonOf, type Trace } from "./model";
import { STOP_WORDS, viewStep, type Pin, type Request, type StepView, type TransferClass } from "./step_view";

function fact(name: string, value: Child): HTMLElement {
  return h("div", { class: "fact" }, h("span", { class: "muted" }, name), h("b", {}, value));
}

function section(name: string, title: string, note: Child, ...children: Child[]): HTMLElement {
  return h("section", { class: "part", "data-part": name }, h("h3", {}, title, " ", h("small", { class: "muted" }, note)), ...children);
}

/** One step: its tokens, running and waiting requests, why admission stopped, and the state of KV. */
export class StepPanel {
  private row = -1;

  constructor(
    private readonly element: HTMLElement,
    private readonly indexed: Indexed,
    private readonly openJob: (id: string) => void,
  ) {}

  show(row: number): void {
    if (row === this.row || row < 0) return;
    this.row = row;
    const { trace } = this.indexed;
    if (trace.steps.n === 0) {
      replace(this.element, h("p", { class: "muted" }, "This trace has no steps."));
      return;
    }
    const view = viewStep(this.indexed, row);
    replace(this.element, this.facts(row), this.blocks(row), this.requests(view), this.queue(view), this.pins(view), this.transfers(view), this.events(view));
  }

  private facts(row: number): HTMLElement {
    const { steps } = this.indexed.trace;
    const value = (column: Parameters<typeof at>[0]) => num(at(column, row));
    return h("div", { class: "facts", "data-part": "facts" },
      fact("step", value(steps.number)), fact("at", seconds(at(steps.start, row))), fact("took", seconds(at(steps.duration, row))),
      fact("prefill tokens", value(steps.prefill)), fact("decode tokens", value(steps.decodes)), fact("largest share", value(steps.largest)),
      fact("running", value(steps.running)), fact("waiting", value(steps.waiting)), fact("preempted", value(steps.preempted)));
  }

  private blocks(row: number): HTMLElement {
    const { steps } = this.indexed.trace;
    const counts = [steps.used, steps.pinned, steps.cached, steps.empty].map((each) => at(each, row));
    const states = BLOCK_STATES.map((name, i): [string, number, string] => [name, counts[i] ?? NaN, MEANING[name]]);
    const known = states.filter(([, count]) => !Number.isNaN(count));
    const total = known.reduce((sum, [, count]) => sum + count, 0);
    const share = (count: number) => (total > 0 ? (100 * count) / total : 0);
    const bar = known.map(([name, count, color]) =>
      h("span", { style: `width:${share(count)}%;background:var(${color})`, title: `${name}: ${num(count)}` }));
    const legend = known.map(([name, count, color]) =>
      h("span", { class: "key" }, h("i", { style: `background:var(${color})` }), `${name} ${num(count)} (${num(share(count), 2)} %)`));
    const host = at(steps.hostTotal, row);
    return section("blocks", "KV blocks", `${num(total)} on the GPU`,
      h("div", { class: "bar", role: "img", "aria-label": known.map(([name, count]) => `${name} ${count}`).join(", ") }, ...bar),
      h("div", { class: "keys" }, ...legend),
      host > 0 && h("p", { class: "muted" }, `host memory: ${num(at(steps.hostUsed, row))} of ${num(host)} blocks`),
    );
  }

  private jobLink(id: string): HTMLElement {
    return h("button", { type: "button", class: "link", title: "Show this job", onclick: () => this.openJob(id) }, id);
  }

  private requests(view: StepView): HTMLElement {
    const cells = (each: Request): Child[] => [
      this.jobLink(each.job),
      num(each.number),
      phase(each),
      num(each.tokens),
      num(each.before),
      num(each.prompt),
    ];
    const heads = ["job", "turn", "phase", "tokens", "before", "prompt"];
    return section("running", "Running", num(view.running.length),
      view.running.length > 0 && list("Running requests", heads, 3, view.running, cells),
      view.preempted.length > 0 &&
        h("p", { class: "warn", "data-part": "preempted" }, "preempted: ", ...view.preempted.flatMap((each) => [this.jobLink(each.job), ` turn ${each.number} `])),
    );
  }

  private queue(view: StepView): HTMLElement {
    const { steps, turns } = this.indexed.trace;
    const now = at(steps.start, view.row);
    const cells = (each: Request): Child[] => [
      this.jobLink(each.job),
      num(each.number),
      seconds(Math.max(0, now - (each.since > 0 ? at(steps.start, each.since) : at(turns.arrive, each.turn)))),
      num(each.prompt),
    ];
    const words = STOP_WORDS[view.stop] ?? view.stop;
    const loading = at(steps.loading, view.row);
    return section("waiting", "Waiting", num(view.waiting.length),
      view.stop !== "" && h("p", { class: view.stop === "none" ? "muted" : "warn" }, `Admission: ${words} (${view.stop})`),
      loading > 0 && h("p", { class: "muted" }, `${num(loading)} wait for their KV to be loaded`),
      view.waiting.length > 0 && list("Waiting requests", ["job", "turn", "for", "prompt"], 2, view.waiting, cells),
    );
  }

  private pins(view: StepView): HTMLElement {
    const { jobs, steps } = this.indexed.trace;
    const now = at(steps.start, view.row);
    const cells = (pin: Pin): Child[] => [
      this.jobLink(jobs.id[pin.job] ?? "?"),
      pin.why,
      num(pin.blocks),
      seconds(now - pin.since),
      seconds(pin.deadline - now),
    ];
    const heads = ["job", "why", "blocks", "held for", "TTL left"];
    return section("pins", "Pins", num(view.pins.length), view.pins.length > 0 && list("Pins", heads, 3, view.pins, cells));
  }

  private transfers(view: StepView): HTMLElement {
    const { steps } = this.indexed.trace;
    const cells = (each: TransferClass): Child[] => [
      each.kind,
      each.toHost ? "GPU → host" : "host → GPU",
      num(each.copies),
      num(each.blocks),
      bytes(each.bytes),
    ];
    const moved = `${bytes(at(steps.toDevice, view.row))} to the GPU and ${bytes(at(steps.toHost, view.row))} to the host in this step`;
    const heads = ["class", "direction", "copies", "blocks", "size"];
    return section("transfers", "Transfers in flight", Number.isNaN(at(steps.toDevice, view.row)) ? "not in this trace" : moved,
      view.transfers.length > 0 && list("Transfers in flight", heads, 3, view.transfers, cells),
    );
  }

  private events(view: StepView): HTMLElement {
    const { jobs } = this.indexed.trace;
    const { events } = this.indexed.kv;
    const cells = (row: number): Child[] => {
      const by = jobs.id[at(events.byJob, row)];
      return [
        kindOf(events, row),
        reasonOf(events, row),
        at(events.job, row) >= 0 ? this.jobLink(jobs.id[at(events.job, row)] ?? "?") : "",
        by === undefined ? "" : this.jobLink(by),
        num(at(events.blocks, row)),
      ];
    };
    const heads = ["what", "why", "whose", "for", "blocks"];
    const shown = view.events.length > 0 && list("KV events", heads, 1, view.events, cells);
    return section("events", "KV events", num(view.events.length), shown);
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
