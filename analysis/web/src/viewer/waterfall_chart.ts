import { createChart, type Chart, type Option } from "@/shared/charts";
import { html } from "@/shared/escape";
import { num, seconds } from "@/shared/format";
import { MEANING } from "@/shared/meanings";
import { cssVar } from "@/shared/theme";
import type { JobView, TurnView } from "./job_view";
import { PARTS, type Part } from "./model";

export const PART_NAMES: Record<Part, string> = {
  queue: "queue",
  load: "load stall",
  recompute: "recompute",
  prefill: "prefill",
  decode: "decode",
  gap: "gap (tool)",
};

export const PART_COLORS: Record<Part, string> = {
  queue: MEANING.queue,
  load: MEANING.load,
  recompute: MEANING.again,
  prefill: MEANING.prefill,
  decode: MEANING.decode,
  gap: MEANING.tool,
};

const ROW = 17;
const TOP = 56;
const MARKS = 250; // that fit side by side

const label = (turn: TurnView) => `${"↳".repeat(turn.depth)}${turn.depth > 0 ? " " : ""}${turn.number}`;
const part = (turn: TurnView, name: Part) => turn.parts[name] || 0;

/** A job's turns from top to bottom, those of subagents below the turn that spawned them; each begins at its arrival and is divided into the parts of its time. */
export class WaterfallChart {
  private readonly chart: Chart;
  private readonly cursor: HTMLElement;
  private job: JobView | null = null;
  private range: [number, number] = [0, 1];
  private time = 0;

  constructor(
    private readonly element: HTMLElement,
    private readonly seek: (time: number) => void,
  ) {
    this.chart = createChart(element, () => this.option());
    this.cursor = document.createElement("div");
    this.cursor.className = "cursor";
    element.append(this.cursor);
    new ResizeObserver(() => this.placeCursor()).observe(element);
    this.chart.echart.getZr().on("click", (event) => {
      const [time] = this.chart.echart.convertFromPixel({ gridIndex: 0 }, [event.offsetX, event.offsetY]) as [number, number];
      if (this.job !== null && event.offsetY > TOP) this.seek(Math.max(0, time));
    });
  }

  private option(): Option {
    const job = this.job;
    if (job === null) return { xAxis: { show: false }, yAxis: { show: false }, series: [] };
    const { turns } = job;
    return {
      aria: { enabled: true, label: { description: `Turns of ${job.id} and what their time went into` } },
      grid: { left: 40, right: 16, top: TOP, bottom: 24 },
      legend: { data: [...PARTS.map((name) => PART_NAMES[name]), "KV lost"], top: 0, left: 0, right: 0, itemWidth: 12, itemHeight: 8, itemGap: 8, icon: "rect", textStyle: { fontSize: 12 } },
      xAxis: {
        type: "value",
        min: this.range[0],
        max: this.range[1],
        axisLabel: { formatter: (t: number) => `${num(t, 6)} s`, hideOverlap: true, showMinLabel: false, showMaxLabel: false },
      },
      yAxis: {
        type: "category",
        inverse: true,
        data: turns.map(label),
        name: "turn",
        nameLocation: "start",
        nameGap: 4,
        axisTick: { show: false },
        axisLabel: { interval: "auto", fontSize: 11 },
      },
      tooltip: { trigger: "axis", axisPointer: { type: "shadow" }, formatter: (shown: unknown) => this.tooltip(shown) },
      series: [
        {
          name: "before",
          type: "bar",
          stack: "turn",
          silent: true,
          itemStyle: { color: "transparent" },
          tooltip: { show: false },
          data: turns.map((turn) => turn.arrive),
          legendHoverLink: false,
        },
        ...PARTS.map((name) => ({
          name: PART_NAMES[name],
          type: "bar",
          stack: "turn",
          barCategoryGap: "25%",
          color: cssVar(PART_COLORS[name]),
          data: turns.map((turn) => part(turn, name)),
          emphasis: { disabled: true },
        })),
        this.losses(job),
      ],
    };
  }

  /** Marks of KV losses, below the turn after which they occurred. */
  private losses(job: JobView) {
    const latest = (time: number) => job.turns.reduce((last, turn, row) => (turn.arrive <= time && turn.arrive >= (job.turns[last]?.arrive ?? 0) ? row : last), 0);
    const place = (time: number) => Math.round((MARKS * (time - this.range[0])) / (this.range[1] - this.range[0]));
    const marks = new Map((job.losses ?? []).map(({ time }) => [place(time), time])); // marks that lie on each other are one
    return {
      id: "losses",
      name: "KV lost",
      type: "scatter",
      symbol: "triangle",
      symbolSize: 7,
      symbolOffset: [0, 6],
      color: cssVar("--text"),
      data: [...marks.values()].map((time) => [time, latest(time)]),
      z: 5,
    };
  }

  private tooltip(shown: unknown): string {
    const items = (Array.isArray(shown) ? shown : [shown]) as { dataIndex: number; seriesType: string }[];
    const index = items.find((item) => item.seriesType === "bar")?.dataIndex;
    const turn = index === undefined ? undefined : this.job?.turns[index];
    if (turn === undefined) return "";
    const parts = PARTS.filter((name) => part(turn, name) > 0);
    return [
      html`<b>turn ${turn.number}</b>${turn.agent > 0 ? ` of subagent ${turn.agent}` : ""}${turn.tool ? `, then ${turn.tool}` : ""}, at ${seconds(turn.arrive)}`,
      ...parts.map((name) => html`${PART_NAMES[name]} <b>${seconds(turn.parts[name])}</b>`),
      html`prompt ${num(turn.prompt)} tok, found ${num(turn.cachedGpu)} on the GPU and ${num(turn.cachedHost)} on the host`,
      html`output ${num(turn.output)} tok, recomputed ${num(turn.recomputed)}`,
    ].join("<br>");
  }

  /** The range of its time axis is given, so that the same job of two traces is drawn on the same clock. */
  show(job: JobView, range: [number, number]): void {
    [this.job, this.range] = [job, range];
    const height = job.turns.length * ROW + TOP + 44;
    this.element.style.height = `${height}px`;
    const { echart } = this.chart;
    echart.setOption({ animation: false, ...this.option() }, { notMerge: true, lazyUpdate: true });
    echart.resize({ width: echart.getWidth(), height }); // draws what was set; asking for the width would lay out the page
    this.placeCursor();
  }

  /** Adds the losses of the shown job once they are known. */
  showLosses(job: JobView): void {
    this.job = job;
    this.chart.echart.setOption({ series: [this.losses(job)] });
  }

  setTime(time: number): void {
    this.time = time;
    this.placeCursor();
  }

  private placeCursor(): void {
    const x = this.job === null ? NaN : this.chart.echart.convertToPixel({ xAxisIndex: 0 }, this.time);
    const visible = x >= 39 && x <= this.chart.echart.getWidth() - 14;
    this.cursor.style.display = visible ? "block" : "none";
    if (visible) this.cursor.style.transform = `translateX(${Math.round(x)}px)`;
  }

  dispose(): void {
    this.chart.dispose();
  }
}
