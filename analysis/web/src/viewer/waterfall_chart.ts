import type { Chart } from "@/charts/chart";
import { draw } from "@/charts/draw";
import { createChart, type Chart as Canvas } from "@/charts/echarts";
import { h } from "@/shared/dom";
import { MEANING, type Meaning } from "@/shared/meanings";
import type { JobView, TurnView } from "./job_view";
import { PARTS, type Part } from "./model";

/** The name of each part, and the meaning that gives it its color. */
export const PART_LOOKS: Record<Part, [name: string, color: Meaning]> = {
  queue: ["queue", "queue"], load: ["load stall", "load"], recompute: ["recompute", "again"],
  prefill: ["prefill", "prefill"], decode: ["decode", "decode"], gap: ["gap (tool)", "tool"],
};

/** A legend of the parts. */
export const partKeys = (): HTMLElement[] => PARTS.map((part) => {
  const [name, color] = PART_LOOKS[part];
  return h("span", {}, h("span", { class: "lane-key", style: `background:var(${MEANING[color]})` }), ` ${name} `);
});

const ROW = 17, AROUND = 72, HALF = 0.38; // of a row
const MARKS = 250; // that fit side by side

const label = ({ depth, number }: TurnView) => `${"↳".repeat(depth)}${depth > 0 ? " " : ""}${number}`;

/** Where the parts of a turn lie, one behind the other. */
function spansOf(turn: TurnView): { part: Part; from: number; to: number }[] {
  let to = turn.arrive;
  return PARTS.map((part) => ({ part, from: to, to: (to += turn[part] || 0) }));
}

/** Marks of KV losses, below the turn after which they occurred; those that lie on each other are one. */
function lossesOf({ turns, losses }: JobView, [from, to]: [number, number]) {
  const latest = (time: number) => turns.reduce((last, { arrive }, row) => (arrive <= time && arrive >= (turns[last]?.arrive ?? 0) ? row : last), 0);
  const marks = [...new Map(losses.map(({ time }) => [Math.round((MARKS * (time - from)) / (to - from)), time])).values()];
  return { name: "KV lost", draw: "dots" as const, mark: "down" as const, color: "text", x: marks, y: marks.map((time) => latest(time) + HALF) };
}

/** A job's turns from top to bottom, those of subagents below the turn that spawned them, divided into the parts of their time. */
export function waterfall(job: JobView, range: [number, number]): Chart {
  const { turns } = job;
  const series = PARTS.map((part) => {
    const own = turns.flatMap((turn, row) => spansOf(turn).filter((span) => span.part === part && span.to > span.from).map((span) => ({ ...span, turn, row })));
    const of = (get: (turn: TurnView) => number | string) => own.map(({ turn }) => get(turn));
    const [name, color] = PART_LOOKS[part];
    return {
      name, color, draw: "boxes" as const, x: own.map(({ from }) => from), end: own.map(({ to }) => to),
      y: own.map(({ row }) => row - HALF), high: own.map(({ row }) => row + HALF),
      more: {
        turn: of(label), "then tool": of(({ tool }) => tool), "prompt tokens": of(({ prompt }) => prompt), "found on the GPU": of(({ cachedGpu }) => cachedGpu),
        "found on the host": of(({ cachedHost }) => cachedHost), "output tokens": of(({ output }) => output), "recomputed tokens": of(({ recomputed }) => recomputed),
      },
    };
  });
  const [from, to] = range, panel = { name: "", x: { name: "time [s]", from, to }, y: { name: "turn", names: turns.map(label) }, downward: true };
  return {
    id: "waterfall", title: job.id, note: "", kind: "", gpu: "", settings: "", jps: "", at: {}, columns: 1, height: turns.length * ROW + AROUND,
    panels: [{ ...panel, series: [...series, ...(job.losses.length > 0 ? [lossesOf(job, range)] : [])] }],
  };
}

/** The waterfall of a job, with the clock's cursor; a click moves the clock. */
export class WaterfallChart {
  private readonly canvas: Canvas;
  private readonly cursor = h("div", { class: "cursor" });
  private shown: Chart | null = null;
  private range: [number, number] = [0, 1];
  private time = 0;

  constructor(private readonly element: HTMLElement, seek: (time: number) => void) {
    this.canvas = createChart(element, () => (this.shown ? draw(this.shown, []).option : { xAxis: { show: false }, yAxis: { show: false }, series: [] }));
    element.append(this.cursor);
    new ResizeObserver(() => this.placeCursor()).observe(element);
    this.canvas.echart.getZr().on("click", ({ offsetX, offsetY }) => {
      const [time] = this.canvas.echart.convertFromPixel({ gridIndex: 0 }, [offsetX, offsetY]) as [number, number];
      if (this.shown !== null) seek(Math.max(0, time));
    });
  }

  /** The range of its time axis is given, so that the same job of two traces is drawn on the same clock. */
  show(job: JobView, range: [number, number]): void {
    [this.shown, this.range] = [waterfall(job, range), range];
    this.element.style.height = `${this.shown.height}px`;
    this.canvas.refresh();
    this.canvas.echart.resize();
    this.placeCursor();
  }

  setTime(time: number): void {
    this.time = time;
    this.placeCursor();
  }

  private placeCursor(): void {
    const visible = this.shown !== null && this.time >= this.range[0] && this.time <= this.range[1];
    this.cursor.style.display = visible ? "block" : "none";
    if (visible) this.cursor.style.transform = `translateX(${Math.round(this.canvas.echart.convertToPixel({ xAxisIndex: 0 }, this.time))}px)`;
  }

  dispose(): void {
    this.canvas.dispose();
  }
}
