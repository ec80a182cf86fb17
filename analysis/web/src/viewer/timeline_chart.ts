import type { Chart } from "@/charts/chart";
import { draw, heightOf } from "@/charts/draw";
import { createChart, type Chart as Canvas, type Option } from "@/charts/echarts";
import { swatch, type Drawing } from "@/charts/parts";
import { h, replace } from "@/shared/dom";
import type { Meaning } from "@/shared/meanings";
import { sum, timeline, type Lane } from "./bins";
import type { Trace } from "./model";

interface LaneLook {
  title: string;
  draw: "area" | "steps";
  series: [name: string, lane: Lane, color: Meaning][];
}

const LANES: LaneLook[] = [
  { title: "Tokens of a step", draw: "area", series: [["prefill", "prefill", "prefill"], ["decode", "decode", "decode"]] },
  { title: "Requests", draw: "steps", series: [["running", "running", "vram"], ["waiting", "waiting", "queue"], ["preempted", "preempted", "again"]] },
  { title: "KV blocks", draw: "area", series: [["allocated", "used", "allocated"], ["pinned", "pinned", "pinned"], ["cached", "cached", "cached"], ["free", "empty", "free"]] },
  { title: "Copies, GB/s", draw: "area", series: [["to GPU", "toDevice", "to_device"], ["to host", "toHost", "to_host"]] },
];

const LANE_HEIGHT = 122;
const POINTS = 400;

const moves = ({ steps }: Trace) => [steps.toDevice, steps.toHost].some((bytes) => sum(bytes, 0, steps.n) > 0);

/** The steps between two times, in lanes below each other; what is zero throughout is not drawn. */
export function timelineChart(trace: Trace, window: [number, number], end: number): Chart {
  const shown = timeline(trace, ...window, POINTS);
  const panels = LANES.slice(0, moves(trace) ? LANES.length : -1).map(({ title, draw: how, series }) => ({
    name: title, x: { name: "time [s]", from: 0, to: end }, y: { name: "", from: 0 },
    series: series.filter(([, lane]) => shown[lane].some(([, value]) => value > 0)).map(([name, lane, color]) => ({
      name, color, draw: how, x: shown[lane].map(([time]) => time), y: shown[lane].map(([, value]) => value || 0),
    })),
  }));
  const note = shown.stepsPerPoint > 1 ? `Up to ${shown.stepsPerPoint} steps a point.` : "";
  return { id: "timeline", title: trace.title, note, kind: "", gpu: "", settings: "", jps: "", at: {}, columns: 1, height: LANE_HEIGHT, panels };
}

/** Of the whole time. */
interface Percent {
  start: number;
  end: number;
}

/** The steps of a trace over time, with a draggable cursor. */
export class TimelineChart {
  private readonly canvas: Canvas;
  private readonly cursor = h("div", { class: "cursor" });
  private drawing!: Drawing;
  private zoomed: [number, number]; // what the chart shows
  private time = 0;

  constructor(
    element: HTMLElement,
    private readonly keys: HTMLElement,
    private readonly trace: Trace,
    private readonly end: number,
    private window: [number, number],
    private readonly use: { seek: (time: number) => void; zoom: (from: number, to: number) => void },
  ) {
    this.zoomed = window;
    element.style.height = `${heightOf(timelineChart(trace, window, end)) + 24}px`;
    this.canvas = createChart(element, () => this.option());
    element.append(this.cursor);
    this.listen();
    new ResizeObserver(() => this.placeCursor()).observe(element);
  }

  private option(): Option {
    this.drawing = draw(timelineChart(this.trace, this.window, this.end), []);
    replace(this.keys, ...this.drawing.keys.map((key) => h("span", { class: "key" }, swatch(key), ` ${key.name} `)), this.drawing.note);
    const own = { xAxisIndex: "all", filterMode: "none", startValue: this.window[0], endValue: this.window[1] };
    return {
      ...this.drawing.option,
      aria: { enabled: true, label: { description: `Timeline of ${this.trace.steps.n} steps: ${this.trace.title}` } },
      dataZoom: [
        { ...own, type: "inside", zoomOnMouseWheel: "ctrl", moveOnMouseMove: "shift", moveOnMouseWheel: false },
        { ...own, type: "slider", height: 16, bottom: 2, showDataShadow: false, showDetail: false, brushSelect: false },
      ],
    };
  }

  private listen(): void {
    const { echart } = this.canvas, zr = echart.getZr();
    let dragging = false;
    const seek = (x: number) => {
      const [time] = echart.convertFromPixel({ gridIndex: 0 }, [x, 0]) as [number, number];
      this.use.seek(Math.min(this.end, Math.max(0, time)));
    };
    zr.on("mousedown", ({ event, offsetX, offsetY }) => {
      const on_lane = LANES.some((_, gridIndex) => echart.containPixel({ gridIndex }, [offsetX, offsetY]));
      dragging = !(event as unknown as MouseEvent).shiftKey && on_lane;
      if (dragging) seek(offsetX);
    });
    zr.on("mousemove", ({ offsetX }) => {
      if (dragging) seek(offsetX);
    });
    for (const over of ["mouseup", "globalout"]) zr.on(over, () => (dragging = false));
    echart.on("datazoom", (event) => {
      const { start, end } = (event as { batch?: Percent[] } & Percent).batch?.[0] ?? (event as Percent);
      this.zoomed = [(start / 100) * this.end, (end / 100) * this.end];
      this.use.zoom(...this.zoomed);
    });
  }

  setWindow(from: number, to: number): void {
    if (from === this.window[0] && to === this.window[1]) return;
    this.window = [from, to];
    const moved = this.zoomed[0] !== from || this.zoomed[1] !== to;
    this.zoomed = [from, to];
    const { series, dataZoom } = this.option() as { series: object; dataZoom: object };
    this.canvas.echart.setOption({ series, ...(moved ? { dataZoom } : {}) }, { replaceMerge: ["series"], silent: true });
    this.placeCursor();
  }

  setTime(time: number): void {
    this.time = time;
    this.placeCursor();
  }

  private placeCursor(): void {
    const visible = this.time >= this.window[0] && this.time <= this.window[1];
    this.cursor.style.display = visible ? "block" : "none";
    if (visible) this.cursor.style.transform = `translateX(${Math.round(this.canvas.echart.convertToPixel({ xAxisIndex: 0 }, this.time))}px)`;
  }

  /** What is drawn. */
  csv = () => this.drawing.csv;

  dispose(): void {
    this.canvas.dispose();
  }
}
