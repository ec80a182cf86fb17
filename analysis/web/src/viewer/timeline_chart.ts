import { createChart, type Chart, type Option } from "@/charts/echarts";
import { escapeHtml } from "@/shared/escape";
import { num, seconds } from "@/shared/format";
import { MEANING } from "@/shared/meanings";
import { cssVar } from "@/shared/theme";
import { sum, timeline, type Point, type Timeline } from "./bins";
import { lastNotAbove, type Trace } from "./model";

interface Lane {
  title: string;
  series: { name: string; key: keyof Omit<Timeline, "stepsPerPoint">; color: string; stack: boolean }[];
}

const COPIES = "Copies, GB/s";

const LANES: Lane[] = [
  {
    title: "Tokens of a step",
    series: [
      { name: "prefill", key: "prefill", color: MEANING.prefill, stack: true },
      { name: "decode", key: "decode", color: MEANING.decode, stack: true },
    ],
  },
  {
    title: "Requests",
    series: [
      { name: "running", key: "running", color: "--share-3", stack: false },
      { name: "waiting", key: "waiting", color: MEANING.queue, stack: false },
      { name: "preempted", key: "preempted", color: "--warn", stack: false },
    ],
  },
  {
    title: "KV blocks",
    series: [
      { name: "allocated", key: "used", color: MEANING.allocated, stack: true },
      { name: "pinned", key: "pinned", color: MEANING.pinned, stack: true },
      { name: "cached", key: "cached", color: MEANING.cached, stack: true },
      { name: "free", key: "empty", color: MEANING.free, stack: true },
    ],
  },
  {
    title: COPIES,
    series: [
      { name: "to GPU", key: "toDevice", color: MEANING.to_device, stack: true },
      { name: "to host", key: "toHost", color: MEANING.to_host, stack: true },
    ],
  },
];

const LANE_HEIGHT = 84;
const LANE_GAP = 46;
const LEFT = 62;
const POINTS = 400;

const busy = ({ steps }: Trace) => [steps.toDevice, steps.toHost].some((bytes) => sum(bytes, 0, steps.n) > 0);

/** Of the whole time. */
interface Percent {
  start: number;
  end: number;
}

/** The steps of a trace over time in lanes below each other, with a draggable cursor. */
export class TimelineChart {
  private readonly chart: Chart;
  private readonly lanes: Lane[];
  private readonly cursor: HTMLElement;
  private shown: Timeline;
  private zoomed: [number, number]; // what the chart shows
  private time = 0;

  constructor(
    private readonly element: HTMLElement,
    private readonly trace: Trace,
    private readonly end: number,
    private window: [number, number],
    private readonly use: { seek: (time: number) => void; zoom: (from: number, to: number) => void },
  ) {
    this.lanes = LANES.filter((lane) => lane.title !== COPIES || busy(trace));
    element.style.height = `${this.lanes.length * (LANE_HEIGHT + LANE_GAP) + 44}px`;
    this.shown = timeline(trace, ...window, POINTS);
    this.zoomed = window;
    this.chart = createChart(element, () => this.option());
    this.cursor = document.createElement("div");
    this.cursor.className = "cursor";
    element.append(this.cursor);
    this.listen();
    new ResizeObserver(() => this.placeCursor()).observe(element);
  }

  private option(): Option {
    const grid = this.lanes.map((_, i) => ({
      left: LEFT,
      right: 14,
      top: 30 + i * (LANE_HEIGHT + LANE_GAP),
      height: LANE_HEIGHT,
    }));
    const text = cssVar("--text");
    return {
      aria: { enabled: true, label: { description: `Timeline of ${this.trace.steps.n} steps: ${this.trace.title}` } },
      grid,
      title: this.lanes.map((lane, i) => ({
        text: lane.title,
        left: 4,
        top: 4 + i * (LANE_HEIGHT + LANE_GAP),
        textStyle: { color: text, fontSize: 13, fontWeight: 600 },
      })),
      legend: this.lanes.map((lane, i) => ({
        data: lane.series.map((series) => series.name),
        right: 10,
        top: 3 + i * (LANE_HEIGHT + LANE_GAP),
        itemWidth: 12,
        itemHeight: 8,
        itemGap: 8,
        icon: "rect",
        textStyle: { color: text, fontSize: 12 },
      })),
      xAxis: this.lanes.map((_, i) => ({
        type: "value",
        gridIndex: i,
        min: 0,
        max: this.end,
        axisLabel: { show: i === this.lanes.length - 1, formatter: (t: number) => `${num(t, 6)} s`, hideOverlap: true, showMaxLabel: false },
        splitLine: { show: false },
        axisPointer: { show: true, label: { show: false } },
      })),
      yAxis: this.lanes.map((_, i) => ({
        type: "value",
        gridIndex: i,
        min: 0,
        splitNumber: 2,
        axisLabel: { formatter: (value: number) => compact(value), width: LEFT - 8, overflow: "truncate" },
      })),
      axisPointer: { link: [{ xAxisIndex: "all" }] },
      tooltip: { trigger: "axis", formatter: (shown: unknown) => this.tooltip(shown) },
      dataZoom: [
        {
          type: "inside",
          xAxisIndex: "all",
          filterMode: "none",
          zoomOnMouseWheel: "ctrl",
          moveOnMouseMove: "shift",
          moveOnMouseWheel: false,
          startValue: this.window[0],
          endValue: this.window[1],
        },
        {
          type: "slider",
          xAxisIndex: "all",
          filterMode: "none",
          height: 18,
          bottom: 4,
          left: LEFT,
          right: 14,
          showDataShadow: false,
          showDetail: false,
          brushSelect: false,
          startValue: this.window[0],
          endValue: this.window[1],
        },
      ],
      series: this.series(),
    };
  }

  /** Stacked areas lie behind each other, each from 0 to the sum so far: areas on top of each other would show gaps. */
  private series() {
    return this.lanes.flatMap((lane, i) => {
      let below: Point[] | null = null;
      return lane.series.map((series, position) => {
        const own = this.shown[series.key];
        const data: Point[] = series.stack ? (below = added(below, own)) : own;
        return {
          id: `${i}-${series.key}`,
          name: series.name,
          type: "line",
          step: "end",
          symbol: "none",
          xAxisIndex: i,
          yAxisIndex: i,
          z: 2 + lane.series.length - position,
          color: cssVar(series.color),
          lineStyle: { width: series.stack ? 0 : 1.4 },
          areaStyle: series.stack ? { opacity: 1 } : null,
          data: someOf(own).length > 0 ? data : [],
          emphasis: { disabled: true },
        };
      });
    });
  }

  private tooltip(shown: unknown): string {
    const items = (Array.isArray(shown) ? shown : [shown]) as {
      seriesId: string; seriesName: string; value: Point; color: string; dataIndex: number;
    }[];
    const own = ({ seriesId, dataIndex }: (typeof items)[number]) =>
      this.shown[seriesId.slice(seriesId.indexOf("-") + 1) as keyof Omit<Timeline, "stepsPerPoint">][dataIndex]?.[1];
    const time = items[0]?.value[0];
    if (time === undefined) return "";
    const row = Math.max(0, lastNotAbove(this.trace.steps.start, time));
    const per = this.shown.stepsPerPoint;
    const head = `step ${num(this.trace.steps.number[row])}${per > 1 ? `, up to ${num(per)} steps a point` : ""}`;
    const lines = items.map((item) => {
      const dot = `<span style="color:${escapeHtml(item.color)}">■</span>`;
      return `${dot} ${escapeHtml(item.seriesName)} <b>${escapeHtml(num(own(item), 3))}</b>`;
    });
    return [`${escapeHtml(seconds(time))}, ${head}`, ...lines].join("<br>");
  }

  private listen(): void {
    const zr = this.chart.echart.getZr();
    let dragging = false;
    const seek = (x: number) => {
      const [time] = this.chart.echart.convertFromPixel({ gridIndex: 0 }, [x, 0]) as [number, number];
      this.use.seek(Math.min(this.end, Math.max(0, time)));
    };
    const inside = (event: { offsetY: number }) => event.offsetY < this.element.clientHeight - 30;
    zr.on("mousedown", (event) => {
      const mouse = event.event as unknown as MouseEvent;
      dragging = !mouse.shiftKey && inside(event) && event.offsetX >= LEFT - 4 && this.onLane(event.offsetY);
      if (dragging) seek(event.offsetX);
    });
    zr.on("mousemove", (event) => {
      if (dragging) seek(event.offsetX);
    });
    zr.on("mouseup", () => (dragging = false));
    zr.on("globalout", () => (dragging = false));
    this.chart.echart.on("datazoom", (event) => {
      const { start, end } = (event as { batch?: Percent[] } & Percent).batch?.[0] ?? (event as Percent);
      this.zoomed = [(start / 100) * this.end, (end / 100) * this.end];
      this.use.zoom(...this.zoomed);
    });
  }

  private onLane(y: number): boolean {
    return (y - 30 + 1e6 * (LANE_HEIGHT + LANE_GAP)) % (LANE_HEIGHT + LANE_GAP) <= LANE_HEIGHT;
  }

  setWindow(from: number, to: number): void {
    if (from === this.window[0] && to === this.window[1]) return;
    this.window = [from, to];
    this.shown = timeline(this.trace, from, to, POINTS);
    const moved = this.zoomed[0] !== from || this.zoomed[1] !== to;
    this.zoomed = [from, to];
    const range = { startValue: from, endValue: to };
    this.chart.echart.setOption({ series: this.series(), ...(moved ? { dataZoom: [range, range] } : {}) }, { silent: true });
    this.placeCursor();
  }

  setTime(time: number): void {
    this.time = time;
    this.placeCursor();
  }

  private placeCursor(): void {
    const x = this.chart.echart.convertToPixel({ xAxisIndex: 0 }, this.time);
    const visible = x >= LEFT - 1 && x <= this.chart.echart.getWidth() - 12;
    this.cursor.style.display = visible ? "block" : "none";
    this.cursor.style.transform = `translateX(${Math.round(x)}px)`;
  }

  /** What is drawn, for the CSV. */
  points(): Timeline {
    return this.shown;
  }

  dispose(): void {
    this.chart.dispose();
  }
}

/** Empty if all points are zero, so that nothing is drawn. */
function someOf(points: Point[]): Point[] {
  return points.some(([, value]) => value > 0) ? points : [];
}

/** Points with the values of both. */
export function added(below: Point[] | null, own: Point[]): Point[] {
  return own.map(([time, value], i) => [time, value + (below?.[i]?.[1] ?? 0)]);
}

export function compact(value: number): string {
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]] as const) {
    if (Math.abs(value) >= size) return `${num(value / size, 3)}${unit}`;
  }
  return num(value, 3);
}
