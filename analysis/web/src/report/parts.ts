import { echarts, type Option } from "@/shared/charts";
import type { CsvColumn } from "@/shared/csv";
import { escapeHtml } from "@/shared/escape";
import { num } from "@/shared/format";
import { cssVar, palette } from "@/shared/theme";

/** A chart: what ECharts draws, the same numbers as columns, and what stands below the title. */
export interface Drawing {
  option: Option;
  csv: CsvColumn[];
  note: string;
}

export { echarts };
export type { Option };

/** One colour for each variant, the same in every chart, and a dash, so that lines upon each other can be told apart. */
export function looks(variants: string[], variant: string): { color: string; type: "solid" | number[] } {
  const colors = palette();
  const at = Math.max(0, variants.indexOf(variant));
  const types = ["solid", [9, 4], [3, 3]] as const;
  const type = types[at % types.length] ?? "solid";
  return {
    color: colors[at % colors.length] ?? cssVar("--text"),
    type: type === "solid" ? type : [...type],
  };
}

const axis = (name: string) => ({ name, nameLocation: "middle", nameTextStyle: { fontSize: 12 } });

export const xAxis = (name: string, more: object = {}) => ({ type: "value", ...axis(name), nameGap: 26, ...more });

export const yAxis = (name: string, more: object = {}) => ({
  type: "value",
  ...axis(name),
  nameGap: 44,
  axisLabel: { formatter: brief },
  ...more,
});

/** 1,500,000 as 1.5M: labels of axes have little room. */
export function brief(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${num(value / 1e9, 3)}G`;
  if (size >= 1e6) return `${num(value / 1e6, 3)}M`;
  if (size >= 1e4) return `${num(value / 1e3, 3)}k`;
  return num(value, 3);
}

/** What all charts with axes share: room for labels, zoom by dragging a box, by pinching or with Ctrl and the wheel. */
export function frame(more: Option & { zoom?: "x" | "xy" }): Option {
  const { zoom = "x", ...option } = more;
  const inside = { type: "inside", zoomOnMouseWheel: "ctrl", moveOnMouseMove: true, filterMode: "none" };
  return {
    grid: { left: 58, right: 14, top: 26, bottom: 42 },
    dataZoom: zoom === "x" ? [{ ...inside, xAxisIndex: 0 }] : [{ ...inside, xAxisIndex: 0 }, { ...inside, yAxisIndex: 0 }],
    toolbox: {
      right: 6,
      top: -4,
      itemSize: 13,
      feature: {
        dataZoom: { title: { zoom: "Zoom into a box", back: "Zoom back" }, filterMode: "none", ...(zoom === "x" ? { yAxisIndex: "none" } : {}) },
        restore: { title: "Whole chart" },
      },
    },
    ...option,
  };
}

interface TipItem {
  seriesName?: string;
  marker?: string;
  value?: unknown;
  axisValueLabel?: string;
}

/** A tooltip over all series at a place. Names come from archives, so they are escaped; markers are ECharts' own. */
export function axisTip(head: (label: string) => string, y: (value: number) => string) {
  return {
    trigger: "axis",
    formatter: (items: TipItem | TipItem[]) => {
      const list = Array.isArray(items) ? items : [items];
      const lines = list.flatMap((item) => {
        const value = Array.isArray(item.value) ? item.value[1] : item.value;
        if (typeof value !== "number" || Number.isNaN(value)) return [];
        return [`${item.marker ?? ""} ${escapeHtml(item.seriesName ?? "")} <b>${escapeHtml(y(value))}</b>`];
      });
      const first = list[0];
      const x = Array.isArray(first?.value) ? num(Number(first.value[0])) : (first?.axisValueLabel ?? "");
      return [escapeHtml(head(x)), ...lines].join("<br>");
    },
  };
}

export const nothing = (why: string): Drawing => ({
  option: {
    graphic: {
      type: "text",
      left: "center",
      top: "middle",
      style: { text: why, fill: cssVar("--muted"), font: "14px sans-serif", lineHeight: 20, width: 280, overflow: "break", textAlign: "center" },
    },
  },
  csv: [],
  note: "",
});
