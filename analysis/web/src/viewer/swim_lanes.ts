import { html } from "@/shared/escape";
import { h } from "@/shared/dom";
import { num, seconds } from "@/shared/format";
import { MEANING } from "@/shared/meanings";
import { cssVar, onThemeChange } from "@/shared/theme";
import { lanesOf } from "./agents";
import type { Indexed } from "./indexed";
import { PARTS, shownTurn, stepAt, type Part } from "./model";
import { PART_LOOKS, partKeys } from "./waterfall_chart";

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

/** A line of the picture: the root of a job, or subagents that run below it. */
interface Lane {
  job: number; // row of Jobs
  turns: number[]; // rows of Turns
}

/** All jobs below each other, in the order of their arrivals, subagents below their parent: what each did, or waited for, at which time. */
export class SwimLanes {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { class: "lanes", role: "img" });
  private readonly tip = h("div", { class: "lane-tip", hidden: true });
  private readonly lanes: Lane[];
  private readonly row_height: number;
  private time = 0;
  private is_queued = false;

  constructor(
    private readonly indexed: Indexed,
    private window: [number, number],
    private readonly use: { seek: (time: number) => void; openJob: (id: string) => void },
  ) {
    const { jobs, turns } = indexed.trace;
    const order = [...jobs.id.keys()].sort((a, b) => (jobs.arrive[a] as number) - (jobs.arrive[b] as number));
    this.lanes = order.slice(0, MOST).flatMap((job) => lanesOf(turns, indexed.turnsOfJob[job] ?? []).map((own) => ({ job, turns: own })));
    this.row_height = Math.max(2, Math.min(12, Math.floor(HEIGHT / Math.max(1, this.lanes.length))));
    const shown = MOST < order.length ? `the first ${num(MOST)} of ${num(order.length)} jobs` : `${num(order.length)} jobs`;
    this.canvas.setAttribute("aria-label", `What ${shown} did or waited for over time`);
    this.canvas.style.height = `${this.lanes.length * this.row_height}px`;
    this.element = h("div", { class: "swim" },
      h("p", { class: "muted" }, `${shown}, by arrival; a click opens the job. `, ...partKeys()), this.canvas, this.tip);
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

  private spansOf(lane: Lane): Span[] {
    const { turns } = this.indexed.trace;
    return lane.turns.flatMap((turn) => {
      let at = turns.arrive[turn] as number;
      return PARTS.flatMap((part): Span[] => {
        const length = turns[part][turn] || 0;
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
    const [wide, high] = [this.canvas.clientWidth, this.lanes.length * this.row_height];
    if (wide === 0) return;
    [this.canvas.width, this.canvas.height] = [wide * scale, high * scale];
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.scale(scale, scale);
    const colors = Object.fromEntries(PARTS.map((part) => [part, cssVar(MEANING[PART_LOOKS[part][1]])]));
    const bar = Math.max(1, this.row_height - 1);
    this.lanes.forEach((lane, row) => {
      for (const { part, from, to } of this.spansOf(lane)) {
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

  /** The lane and the time below the pointer. */
  private under(event: MouseEvent): { lane: Lane | undefined; time: number } {
    const box = this.canvas.getBoundingClientRect();
    const [from, to] = this.window;
    return {
      lane: this.lanes[Math.floor((event.clientY - box.top) / this.row_height)],
      time: from + ((event.clientX - box.left - LEFT) / this.width) * (to - from),
    };
  }

  private open(event: MouseEvent): void {
    const { lane, time } = this.under(event);
    const id = lane === undefined ? undefined : this.indexed.trace.jobs.id[lane.job];
    if (id === undefined) return;
    this.use.openJob(id);
    this.use.seek(Math.max(0, time));
  }

  /** "queue 3.2 s: no free block" of the part at that time. */
  private showTip(event: MouseEvent): void {
    const { trace } = this.indexed;
    const { lane, time } = this.under(event);
    const span = lane === undefined ? undefined : this.spansOf(lane).find(({ from, to }) => from <= time && time < to);
    this.tip.hidden = lane === undefined || span === undefined;
    if (lane === undefined || span === undefined) return;
    const { steps, turns, jobs } = trace;
    const stop = span.part === "queue" && steps.n > 0 ? steps.stopNames[steps.stop[stepAt(trace, time)] as number] ?? "" : "";
    const why = stop === "" || stop === "none" ? "" : `; admission stopped: ${stop.replaceAll("_", " ")}`;
    const agent = turns.agent[span.turn] as number;
    const of = agent > 0 ? ` of subagent ${agent}` : "";
    this.tip.innerHTML = html`<b>${jobs.id[lane.job] ?? "?"}</b>, turn ${shownTurn(turns.turn[span.turn] as number)}${of}: ` +
      html`${PART_LOOKS[span.part][0]} ${seconds(span.to - span.from)}${why}`;
    const box = this.element.getBoundingClientRect();
    this.tip.style.left = `${Math.min(event.clientX - box.left + 12, box.width - 260)}px`;
    this.tip.style.top = `${event.clientY - box.top + 14}px`;
  }
}
