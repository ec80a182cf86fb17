import { table } from "@/charts/parts";
import { csvButton } from "@/shared/csv";
import { h, replace, type Child } from "@/shared/dom";
import { num, seconds } from "@/shared/format";
import type { Indexed } from "./indexed";
import { findJobs, viewJob, type JobView, type Loss, type TurnView } from "./job_view";
import { list } from "./list";
import { at, PARTS } from "./model";
import { PART_LOOKS, partKeys, WaterfallChart } from "./waterfall_chart";

const SHOWN = 50; // jobs shown in the list until the reader asks for more
const MORE = 500;

type Order = "id" | "arrive" | "jct" | "queue" | "preemptions" | "lost";

/** The jobs of a trace, and the waterfall of one of them. */
export class JobPanel {
  private readonly waterfall: WaterfallChart;
  private readonly chart = h("div", { class: "waterfall" });
  private readonly list = h("tbody");
  private readonly head = h("tr");
  private readonly count = h("small", { class: "muted" });
  private readonly about = h("div", { "data-part": "job-facts" });
  private readonly losses = h("div", { "data-part": "losses" });
  private readonly more = h("button", { type: "button", class: "more", onclick: () => this.showMore() });
  private shown = SHOWN;
  private order: Order = "jct";
  private filter = "";
  private selected = "";

  constructor(
    element: HTMLElement,
    private readonly indexed: Indexed,
    private readonly use: { openJob: (id: string) => void; seek: (time: number) => void },
  ) {
    replace(
      element,
      h("h3", {}, "Jobs ", this.count),
      h("div", { class: "scroll list jobs", tabindex: 0, role: "region", "aria-label": "Jobs" }, h("table", {}, h("thead", {}, this.head), this.list), this.more),
      this.about,
      h("p", { class: "muted" }, ...partKeys(), "▼ KV lost"),
      this.chart,
      this.losses,
    );
    this.waterfall = new WaterfallChart(this.chart, use.seek);
    this.showHeads();
    this.showList();
  }

  private showHeads(): void {
    const heads: [Order, string][] = [["id", "job"], ["arrive", "arrived"], ["jct", "JCT"], ["queue", "queue"],
      ["preemptions", "preempted"], ["lost", "lost blocks"]];
    replace(this.head, ...heads.map(([order, name]) => {
      const sort = () => {
        this.order = order;
        this.showHeads();
        this.showList();
        this.head.querySelector<HTMLElement>(`[data-order="${order}"]`)?.focus();
      };
      const current = this.order === order;
      const button = h("button", { type: "button", class: "link", "data-order": order, onclick: sort }, name, current && " ▾");
      const ascending = order === "id" || order === "arrive";
      return h("th", { class: order === "id" ? "" : "n", "aria-sort": current ? (ascending ? "ascending" : "descending") : "none" }, button);
    }));
  }

  /** Blocks that a job lost on the GPU; NaN while KV events are being read. */
  private lost(job: number): number {
    return at(this.indexed.kv.lost, job);
  }

  private value(order: Order, job: number): number {
    const { jobs } = this.indexed.trace;
    if (order === "lost") return this.lost(job);
    return order === "id" ? job : at(jobs[order], job);
  }

  private ordered(): number[] {
    const ids = this.indexed.trace.jobs.id;
    const found = findJobs(this.indexed, this.filter);
    if (this.order === "id") return found.sort((a, b) => (ids[a] as string).localeCompare(ids[b] as string, "en", { numeric: true }));
    const sign = this.order === "arrive" ? 1 : -1;
    const key = (job: number) => this.value(this.order, job);
    return found.sort((a, b) => sign * ((Number.isNaN(key(a)) ? -Infinity : key(a)) - (Number.isNaN(key(b)) ? -Infinity : key(b))) || a - b);
  }

  private showList(): void {
    const { jobs } = this.indexed.trace;
    const found = this.ordered();
    this.more.hidden = found.length <= this.shown;
    this.more.textContent = `Show ${num(Math.min(MORE, found.length - this.shown))} more`;
    replace(this.count, found.length > this.shown ? `${num(this.shown)} of ${num(found.length)}` : num(found.length));
    replace(this.list, ...found.slice(0, this.shown).map((job) => {
      const id = jobs.id[job] as string;
      const cells: Child[] = [seconds(at(jobs.arrive, job)), seconds(at(jobs.jct, job)), seconds(at(jobs.queue, job)),
        num(at(jobs.preemptions, job)), num(this.lost(job))];
      const open = h("button", { type: "button", class: "link", onclick: () => this.use.openJob(id) }, id);
      return h("tr", { "data-id": id },
        h("td", {}, open), ...cells.map((cell) => h("td", { class: "n" }, cell)));
    }));
    this.mark();
  }

  private showMore(): void {
    this.shown += MORE;
    this.showList();
  }

  private mark(): void {
    for (const row of this.list.rows) row.setAttribute("aria-selected", String(row.dataset["id"] === this.selected));
  }

  setFilter(text: string): void {
    [this.filter, this.shown] = [text, SHOWN];
    this.showList();
  }

  setTime(time: number): void {
    this.waterfall.setTime(time);
  }

  /** The time of the job with this id, from its arrival to its end. */
  span(id: string): [number, number] {
    const { jobs } = this.indexed.trace;
    const job = this.indexed.jobOfId.get(id) ?? -1;
    return [at(jobs.arrive, job), at(jobs.finish, job)];
  }

  /** Shows the job with this id over a range of time, or a note if the trace lacks it. */
  show(id: string, range: [number, number]): void {
    if (id === this.selected) return;
    this.selected = id;
    this.mark();
    const job = this.indexed.jobOfId.get(id);
    this.chart.hidden = job === undefined;
    if (job === undefined) {
      replace(this.about, h("p", { class: "warn" }, `There is no job ${id} in this trace.`));
      replace(this.losses);
      return;
    }
    const view = viewJob(this.indexed, job);
    this.showFacts(job, view);
    this.waterfall.show(view, range);
    this.showLosses(view);
  }

  private showFacts(job: number, view: JobView): void {
    const { jobs } = this.indexed.trace;
    const total = (part: (typeof PARTS)[number]) => view.turns.reduce((sum, turn) => sum + (turn[part] || 0), 0);
    const parts = PARTS.map((part) => `${PART_LOOKS[part][0]} ${seconds(total(part))}`).join(" · ");
    replace(
      this.about,
      h("h3", {}, "Job ", h("span", { class: "id" }, view.id), " ", csvButton(`job-${view.id.replace(/[^\w.-]+/g, "_")}.csv`, () => csvOf(view))),
      h("p", {}, `${num(view.turns.length)} turns in `, h("b", {}, seconds(at(jobs.jct, job))), h("br"), h("span", { class: "muted" }, parts)),
    );
  }

  private showLosses(view: JobView): void {
    const when = (time: number) => h("button", { type: "button", class: "link", onclick: () => this.use.seek(time) }, seconds(time));
    const cells = (loss: Loss): Child[] => [when(loss.time), loss.kind, loss.reason, loss.by, num(loss.blocks)];
    const { losses } = view;
    const note = losses.length === 0 ? "none: the job kept its KV" : `${num(losses.length)} losses`;
    replace(
      this.losses,
      h("h3", {}, "Evicted by ", h("small", { class: "muted" }, note)),
      losses.length > 0 && list("Evicted by", ["at", "what", "why", "for", "blocks"], 1, losses, cells),
    );
  }

  dispose(): void {
    this.waterfall.dispose();
  }
}

const csvOf = ({ turns }: JobView) => table(turns, {
  turn: (turn) => turn.number, agent: (turn) => turn.agent, arrive_s: (turn) => turn.arrive, finish_s: (turn) => turn.finish,
  ...Object.fromEntries(PARTS.map((part) => [`${part}_s`, (turn: TurnView) => turn[part]])),
  prompt_tok: (turn) => turn.prompt, output_tok: (turn) => turn.output, cached_gpu_tok: (turn) => turn.cachedGpu,
  cached_host_tok: (turn) => turn.cachedHost, recomputed_tok: (turn) => turn.recomputed, tool: (turn) => turn.tool,
});
