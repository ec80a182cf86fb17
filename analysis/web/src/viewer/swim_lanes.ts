import { html } from "@/shared/escape";
import { h } from "@/shared/dom";
import { num, seconds } from "@/shared/format";
import { cssVar, onThemeChange } from "@/shared/theme";
import type { Indexed } from "./indexed";
import { PARTS, shownTurn, stepAt, type Part } from "./model";
import { PART_COLORS, PART_NAMES } from "./waterfall_chart";

const MOST = 300; // jobs that are shown, the first to arrive
const HEIGHT = 420;
const LEFT = 62; // as the timeline above
const RIGHT = 14;

/** A part of a turn's time. */
interface Span {
  turn: number; // row of Turns
  part: Part;
  from: number;
  to: number;
}

/** All jobs below each other, in the order of their arrivals: what each did, or waited for, at which time. */
export class SwimLanes {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { class: "lanes", role: "img" });
  private readonly tip = h("div", { class: "lane-tip", hidden: true });
  private readonly rows: number[]; // of Jobs
  private readonly row_height: number;
  private time = 0;
  private is_queued = false;

  constructor(
    private readonly indexed: Indexed,
    private window: [number, number],
    private readonly use: { seek: (time: number) => void; openJob: (id: string) => void },
  ) {
    const { jobs } = indexed.trace;
    const order = [...jobs.id.keys()].sort((a, b) => (jobs.arrive[a] as number) - (jobs.arrive[b] as number));
    this.rows = order.slice(0, MOST);
    this.row_height = Math.max(2, Math.min(12, Math.floor(HEIGHT / Math.max(1, this.rows.length))));
    const shown = this.rows.length < order.length ? `the first ${num(MOST)} of ${num(order.length)} jobs` : `${num(order.length)} jobs`;
    this.canvas.setAttribute("aria-label", `What ${shown} did or waited for over time`);
    this.canvas.style.height = `${this.rows.length * this.row_height}px`;
    const keys = PARTS.map((part) => {
      const swatch = h("span", { class: "lane-key" });
      swatch.style.background = `var(${PART_COLORS[part]})`;
      return h("span", {}, swatch, ` ${PART_NAMES[part]} `);
    });
    this.element = h("div", { class: "swim" },
      h("p", { class: "muted" }, `${shown}, by arrival; a click opens the job. `, ...keys), this.canvas, this.tip);
    this.canvas.addEventListener("mousemove", (event) => this.showTip(event));
    this.canvas.addEventListener("mouseleave", () => (this.tip.hidden = true));
    this.canvas.addEventListener("click", (event) => this.open(event));
    new ResizeObserver(() => this.queue()).observe(this.canvas);
    onThemeChange(() => this.queue());
  }

  setWindow(from: number, to: number): void {
    this.window = [from, to];
    this.queue();
  }

  setTime(time: number): void {
    this.time = time;
    this.queue();
  }

  /** Draws once before the next frame, however often it is asked. */
  private queue(): void {
    if (this.is_queued) return;
    this.is_queued = true;
    requestAnimationFrame(() => {
      this.is_queued = false;
      this.draw();
    });
  }

  private spansOf(job: number): Span[] {
    const { turns } = this.indexed.trace;
    return [...this.indexed.turnsOfJob.of(job)].flatMap((turn) => {
      let at = turns.arrive[turn] as number;
      return PARTS.flatMap((part): Span[] => {
        const length = turns.parts[part][turn] || 0;
        const from = at;
        at += length;
        return length > 0 ? [{ turn, part, from, to: at }] : [];
      });
    });
  }

  private get width(): number {
    return Math.max(1, this.canvas.clientWidth - LEFT - RIGHT);
  }

  private place(time: number): number {
    const [from, to] = this.window;
    return LEFT + (this.width * (time - from)) / Math.max(1e-9, to - from);
  }

  private draw(): void {
    const scale = window.devicePixelRatio || 1;
    const [wide, high] = [this.canvas.clientWidth, this.rows.length * this.row_height];
    if (wide === 0) return;
    [this.canvas.width, this.canvas.height] = [wide * scale, high * scale];
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.scale(scale, scale);
    const colors = Object.fromEntries(PARTS.map((part) => [part, cssVar(PART_COLORS[part])]));
    const bar = Math.max(1, this.row_height - 1);
    this.rows.forEach((job, row) => {
      for (const { part, from, to } of this.spansOf(job)) {
        const [left, right] = [Math.max(LEFT, this.place(from)), Math.min(LEFT + this.width, this.place(to))];
        if (right <= left) continue;
        context.globalAlpha = part === "gap" ? 0.35 : 1;
        context.fillStyle = colors[part] ?? "";
        context.fillRect(left, row * this.row_height, Math.max(0.5, right - left), bar);
      }
    });
    context.globalAlpha = 1;
    context.fillStyle = cssVar("--text");
    const x = this.place(this.time);
    if (x >= LEFT && x <= LEFT + this.width) context.fillRect(x, 0, 1, high);
  }

  /** The job and the time below the pointer. */
  private under(event: MouseEvent): { job: number | undefined; time: number } {
    const box = this.canvas.getBoundingClientRect();
    const [from, to] = this.window;
    return {
      job: this.rows[Math.floor((event.clientY - box.top) / this.row_height)],
      time: from + ((event.clientX - box.left - LEFT) / this.width) * (to - from),
    };
  }

  private open(event: MouseEvent): void {
    const { job, time } = this.under(event);
    const id = job === undefined ? undefined : this.indexed.trace.jobs.id[job];
    if (id === undefined) return;
    this.use.openJob(id);
    this.use.seek(Math.max(0, time));
  }

  /** "queue 3.2 s: no free block" of the part at that time. */
  private showTip(event: MouseEvent): void {
    const { trace } = this.indexed;
    const { job, time } = this.under(event);
    const span = job === undefined ? undefined : this.spansOf(job).find(({ from, to }) => from <= time && time < to);
    this.tip.hidden = job === undefined || span === undefined;
    if (job === undefined || span === undefined) return;
    const { steps, turns, jobs } = trace;
    const stop = span.part === "queue" && steps.n > 0 ? steps.stopNames[steps.stop[stepAt(trace, time)] as number] ?? "" : "";
    const why = stop === "" || stop === "none" ? "" : `; admission stopped: ${stop.replaceAll("_", " ")}`;
    this.tip.innerHTML = html`<b>${jobs.id[job] ?? "?"}</b>, turn ${shownTurn(turns.turn[span.turn] as number)}: ` +
      html`${PART_NAMES[span.part]} ${seconds(span.to - span.from)}${why}`;
    const box = this.element.getBoundingClientRect();
    this.tip.style.left = `${Math.min(event.clientX - box.left + 12, box.width - 260)}px`;
    this.tip.style.top = `${event.clientY - box.top + 14}px`;
  }
}
