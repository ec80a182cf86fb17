import { createChart, type Chart } from "@/shared/charts";
import { csvButton } from "@/shared/csv";
import { h } from "@/shared/dom";

import { nothing, type Drawing } from "./parts";

/** A chart with its title, what its numbers are, and the same numbers as CSV. */
export interface Card {
  element: HTMLElement;
  refresh(): void;
}

/** ECharts counts places of a series from 0: the arrow keys walk over those of the first series, and a tooltip follows. */
function walkByKeys(chart: Chart, box: HTMLElement): void {
  let at = -1;
  const places = (): number => {
    const series = (chart.echart.getOption() as { series?: { data?: unknown[] }[] }).series ?? [];
    return series[0]?.data?.length ?? 0;
  };
  const zoom = (factor: number) => {
    const zooms = (chart.echart.getOption() as { dataZoom?: { start?: number; end?: number }[] }).dataZoom ?? [];
    const { start = 0, end = 100 } = zooms[0] ?? {};
    const middle = (start + end) / 2, half = Math.min(50, Math.max(0.5, ((end - start) / 2) * factor));
    const shift = Math.max(0, half - middle) - Math.max(0, middle + half - 100);
    chart.echart.dispatchAction({ type: "dataZoom", dataZoomIndex: 0, start: middle - half + shift, end: middle + half + shift });
  };
  box.addEventListener("keydown", (event) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 };
    const step = steps[event.key];
    if (step !== undefined) {
      at = Math.min(Math.max(0, at + step), Math.max(0, places() - 1));
      chart.echart.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: at });
    } else if (event.key === "+" || event.key === "=") {
      zoom(0.5);
    } else if (event.key === "-") {
      zoom(2);
    } else if (event.key === "0") {
      chart.echart.dispatchAction({ type: "restore" });
    } else if (event.key === "Escape") {
      chart.echart.dispatchAction({ type: "hideTip" });
    } else {
      return;
    }
    event.preventDefault();
  });
  box.addEventListener("blur", () => chart.echart.dispatchAction({ type: "hideTip" }));
}

export const KEYS = "Arrow keys walk along a chart in focus, + and - zoom, 0 shows all of it, Escape hides the tooltip.";

export function chartCard(
  id: string, title: string | (() => string), fileName: () => string, draw: () => Drawing, more: { height?: () => number; controls?: HTMLElement[]; wide?: boolean } = {},
): Card {
  let drawing: Drawing = nothing("");
  const note = h("p", { class: "small muted note" });
  const name = () => (typeof title === "string" ? title : title());
  const heading = h("h3", {}, name());
  const box = h("div", { class: "chart", tabindex: 0, role: "img", "aria-label": name(), "aria-describedby": `${id}-note` });
  note.id = `${id}-note`;
  const csv = h("span", {});
  const element = h("article", { class: `card chart-card${more.wide ? " wide" : ""}`, id, "aria-label": name() },
    h("header", {}, heading, h("span", { class: "tools" }, ...(more.controls ?? []), csv)), box, note);
  let chart: Chart | undefined;
  const redraw = () => {
    drawing = draw();
    note.textContent = drawing.note;
    heading.textContent = name();
    for (const labelled of [box, element]) labelled.setAttribute("aria-label", name());
    csv.replaceChildren(...(drawing.csv.length > 0 ? [csvButton(fileName(), () => drawing.csv)] : []));
    if (more.height) box.style.height = `${more.height()}px`;
    return drawing.option;
  };
  const start = () => {
    chart = createChart(box, redraw);
    walkByKeys(chart, box);
  };
  // Charts far below are drawn when the reader comes near them.
  const watcher = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting) || chart) return;
    watcher.disconnect();
    start();
  }, { rootMargin: "400px" });
  watcher.observe(box);
  return {
    element,
    refresh() {
      if (!chart) return;
      chart.refresh();
      chart.echart.resize();
    },
  };
}
