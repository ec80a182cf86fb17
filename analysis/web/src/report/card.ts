import { createChart, type Chart } from "@/charts/echarts";
import { csvButton } from "@/shared/csv";
import { h, replace } from "@/shared/dom";

import { nothing, swatch, type Drawing, type Key } from "@/charts/parts";

/**
 * A chart with its title, legend, the kind of its numbers, and the same numbers as CSV.
 */
export interface Card {
  element: HTMLElement;
  refresh(): void;
}

export const KEYS =
  "Arrow keys walk along a chart in focus, + and - zoom, 0 shows all of it, " +
  "Escape hides the tooltip.";

/** What sheets of Letter and A4 have room for beside a card's texts, CSS pixels. */
const PAGE = { width: 700, most_height: 780 };
const HALF_PAGE = { width: 340, height: 250 };

/** The size to draw a chart of this height in for paper, which shows it as wide as the sheet: a higher one is drawn wider, so that it shrinks as a whole. */
export function paperSize(height: number): { width: number; height: number } {
  return { width: Math.round(PAGE.width * Math.max(1, height / PAGE.most_height)), height };
}

interface Shown {
  series?: { data?: unknown[] }[];
  dataZoom?: { start?: number; end?: number }[];
}

function zoom(chart: Chart, factor: number): void {
  const { dataZoom = [] } = chart.echart.getOption() as Shown;
  const { start = 0, end = 100 } = dataZoom[0] ?? {};
  const middle = (start + end) / 2;
  const half = Math.min(50, Math.max(0.5, ((end - start) / 2) * factor));
  const shift = Math.max(0, half - middle) - Math.max(0, middle + half - 100);
  chart.echart.dispatchAction({
    type: "dataZoom", dataZoomIndex: 0, start: middle - half + shift, end: middle + half + shift,
  });
}

/**
 * The arrow keys move over the points of the first series, and a tooltip follows.
 */
function walkByKeys(chart: Chart, box: HTMLElement): void {
  let at = -1;
  const act = (type: string) => () => chart.echart.dispatchAction({ type });
  const walk = (steps: number) => () => {
    const { series = [] } = chart.echart.getOption() as Shown;
    const last = Math.max(0, (series[0]?.data?.length ?? 0) - 1);
    at = Math.min(Math.max(0, at + steps), last);
    chart.echart.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: at });
  };
  const actions: Record<string, () => void> = {
    ArrowRight: walk(1), ArrowLeft: walk(-1), PageDown: walk(10), PageUp: walk(-10),
    "+": () => zoom(chart, 0.5), "=": () => zoom(chart, 0.5), "-": () => zoom(chart, 2),
    "0": act("restore"), Escape: act("hideTip"),
  };
  box.addEventListener("keydown", (event) => {
    const action = actions[event.key];
    if (!action) return;
    action();
    event.preventDefault();
  });
  box.addEventListener("blur", act("hideTip"));
}

const keyItem = (key: Key) => h("li", {}, swatch(key), key.name);

export interface CardOptions {
  height?: () => number;
  controls?: HTMLElement[];
  wide?: boolean;
}

/** The parts of a card that change with what it shows. */
class CardView {
  readonly box: HTMLElement;
  readonly element: HTMLElement;
  private readonly heading = h("h3", {});
  private readonly keys = h("ul", { class: "keys", "aria-label": "colors" });
  private readonly note: HTMLElement;
  private readonly csv = h("span", {});

  constructor(id: string, private readonly options: CardOptions) {
    this.note = h("p", { class: "small muted note", id: `${id}-note` });
    this.box = h("div", {
      class: "chart", tabindex: 0, role: "img", "aria-describedby": this.note.id,
    });
    const tools = h("span", { class: "tools" }, ...(options.controls ?? []), this.csv);
    this.element = h("article", { class: `card chart-card${options.wide ? " wide" : ""}`, id },
      h("header", {}, this.heading, tools), this.box, this.keys, this.note);
  }

  show(drawing: Drawing, title: string, file: string): void {
    this.note.textContent = drawing.note;
    this.heading.textContent = title;
    this.element.classList.toggle("empty", drawing.is_empty ?? false);
    this.box.setAttribute("aria-label", title);
    this.element.setAttribute("aria-label", title);
    replace(this.keys, ...drawing.keys.map(keyItem));
    replace(this.csv, drawing.csv.length > 0 && csvButton(file, () => drawing.csv));
    if (this.options.height) this.box.style.height = `${this.options.height()}px`;
  }
}

export function chartCard(
  id: string, title: string | (() => string), fileName: () => string, draw: () => Drawing,
  options: CardOptions = {},
): Card {
  const name = () => (typeof title === "string" ? title : title());
  const view = new CardView(id, options);
  view.show(nothing(""), name(), "");
  let chart: Chart | undefined;
  const redraw = () => {
    const drawing = draw();
    view.show(drawing, name(), fileName());
    return drawing.option;
  };
  const start = () => {
    if (chart) return;
    watcher.disconnect();
    chart = createChart(view.box, redraw);
    walkByKeys(chart, view.box);
  };
  // Charts outside the viewport are drawn when the reader scrolls near them, or prints the page.
  const watcher = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) start();
  }, { rootMargin: "400px" });
  watcher.observe(view.box);
  window.addEventListener("beforeprint", () => {
    start();
    const is_half = view.element.parentElement?.matches(".nine") ?? false;
    chart?.echart.setOption({ toolbox: { show: false } });
    const is_empty = view.element.classList.contains("empty");
    chart?.echart.resize(is_half && !is_empty ? HALF_PAGE : paperSize(chart.echart.getHeight()));
    chart?.echart.getZr().flush();  // the page is printed before the next frame
  });
  window.addEventListener("afterprint", () => {
    chart?.echart.setOption({ toolbox: { show: true } });
    chart?.echart.resize({ width: "auto", height: "auto" });
  });
  return {
    element: view.element,
    refresh() {
      if (!chart) return view.show(nothing(""), name(), "");
      chart.refresh();
      chart.echart.resize();
    },
  };
}
