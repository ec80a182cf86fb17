import { echarts, type Option } from "@/shared/charts";
import type { CsvColumn, CsvValue } from "@/shared/csv";
import { h } from "@/shared/dom";
import { escapeHtml } from "@/shared/escape";
import { num } from "@/shared/format";
import { meanings } from "@/shared/meanings";
import { policyLook } from "@/shared/policy_looks";
import { cssVar, palette } from "@/shared/theme";

import type { Panel } from "./data";

export type Dash = "solid" | number[];

/** A legend entry of a chart. */
export interface Key {
  name: string;
  color: string;
  /** A line with this dash; an area if there is none. */
  dash?: Dash;
  /** An area with an outline, filled with this much of the color. */
  fill?: number;
  /** A hollow diamond. */
  mark?: boolean;
  /** A dot of a scatter plot. */
  dot?: string;
}

/**
 * A chart: the ECharts option, the legend, the same numbers as columns, and the text
 * below it.
 */
export interface Drawing {
  option: Option;
  keys: Key[];
  csv: CsvColumn[];
  note: string;
  /** There is only a sentence: the card needs little room. */
  is_empty?: boolean;
}

export { echarts, meanings };
export type { Option };

/** One color per policy, the same in every report, and a dash for its variants. */
export function looks(
  variants: string[], variant: string,
): { color: string; type: Dash; symbol: string } {
  const { color, dash } = policyLook(variants, variant);
  const types = ["solid", [9, 5], [2, 5]] as const;
  const type = types[dash] ?? "solid";
  return {
    color: palette()[color] ?? cssVar("--text"),
    type: type === "solid" ? type : [...type],
    symbol: ["circle", "triangle", "diamond"][dash] ?? "circle",
  };
}

const axis = (name: string) => ({ name, nameLocation: "middle", nameTextStyle: { fontSize: 12 } });

export const xAxis = (name: string, more: object = {}) => ({
  type: "value",
  ...axis(name),
  nameGap: 26,
  ...more,
});

export const yAxis = (name: string, more: object = {}) => ({
  type: "value",
  ...axis(name),
  nameGap: 44,
  axisLabel: { formatter: brief },
  ...more,
});

/**
 * Also labels lines between the powers of ten: a logarithmic axis of one decade would otherwise
 * have two numbers.
 */
export const LOG = {
  type: "log", minorTick: { show: true, splitNumber: 9 }, minorSplitLine: { show: true },
};

/** 1,500,000 as 1.5M: labels of axes have little room. */
export function brief(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${num(value / 1e9, 3)}G`;
  if (size >= 1e6) return `${num(value / 1e6, 3)}M`;
  if (size >= 1e4) return `${num(value / 1e3, 3)}k`;
  return num(value, 3);
}

/**
 * What all charts with axes share: room for labels, zoom by dragging a box, by pinching or with
 * Ctrl and the wheel.
 */
export function frame(more: Option & { zoom?: "x" | "xy" }): Option {
  const { zoom = "x", ...option } = more;
  const inside = {
    type: "inside", zoomOnMouseWheel: "ctrl", moveOnMouseMove: true, filterMode: "none",
  };
  const both = [{ ...inside, xAxisIndex: 0 }, { ...inside, yAxisIndex: 0 }];
  const box = { zoom: "Zoom into a box", back: "Zoom back" };
  return {
    grid: { left: 58, right: 14, top: 30, bottom: 42 },
    dataZoom: zoom === "x" ? both.slice(0, 1) : both,
    toolbox: {
      right: 6,
      top: -2,
      itemSize: 13,
      feature: {
        dataZoom: {
          title: box, filterMode: "none", ...(zoom === "x" ? { yAxisIndex: "none" } : {}),
        },
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

/**
 * A tooltip over all series at a place; "-" is a place without a name. Names come from archives, so they are escaped; markers are
 * ECharts' own.
 */
export function axisTip(head: (label: string) => string, y: (value: number) => string) {
  return {
    trigger: "axis",
    formatter: (items: TipItem | TipItem[]) => {
      const list = Array.isArray(items) ? items : [items];
      const lines = list.flatMap((item) => {
        const value = Array.isArray(item.value) ? item.value[1] : item.value;
        if (typeof value !== "number" || Number.isNaN(value)) return [];
        return [tipLine(item.marker ?? "", item.seriesName ?? "", y(value))];
      });
      const first = list[0];
      // A category is a name, and its place on the axis a text in the value.
      const at = Array.isArray(first?.value) ? Number(first.value[0]) : NaN;
      const x = Number.isFinite(at) ? num(at) : first?.axisValueLabel;
      const title = x === undefined || x === "-" ? [] : [escapeHtml(head(x))];
      return [...title, ...lines].join("<br>");
    },
  };
}

export const tipLine = (marker: string, name: string, text: string): string =>
  `${marker} ${escapeHtml(name)} <b>${escapeHtml(text)}</b>`;

/** A sample of the chart's style for the item that the text beside it names. */
export function swatch({ color, dash, fill, mark, dot }: Key): HTMLElement {
  const element = h("span", { class: "swatch", "aria-hidden": "true" });
  if (dot) {
    element.classList.add("dotted");
    element.textContent = { triangle: "▲", diamond: "◆" }[dot] ?? "●";
    element.style.color = color;
  } else if (mark) {
    element.classList.add("mark");
  } else if (dash) {
    const style = dash === "solid" ? "solid" : (dash[0] ?? 0) > 4 ? "dashed" : "dotted";
    element.style.borderTop = `3px ${style} ${color}`;
  } else {
    element.classList.add("area");
    const share = Math.round((fill ?? 1) * 100);
    element.style.background = `color-mix(in srgb, ${color} ${share}%, transparent)`;
    element.style.border = `1.5px solid ${color}`;
  }
  return element;
}

export const nothing = (why: string): Drawing => ({
  option: {
    graphic: {
      type: "text",
      left: "center",
      top: "middle",
      style: {
        text: why, fill: cssVar("--muted"), font: "14px sans-serif", lineHeight: 20, width: 280,
        overflow: "break", textAlign: "center",
      },
    },
  },
  keys: [],
  csv: [],
  note: "",
  is_empty: why !== "",
});

// --- curves that coincide ------------------------------------------------------------------------

interface Curve {
  type?: string;
  name?: string;
  data?: unknown[];
}

const SAME = 0.005; // of the largest value: less than the width of a line

function isSame(a: unknown, b: unknown, most: number): boolean {
  const [ys, zs] = [a, b].map((point) => (Array.isArray(point) ? point : [null, point]) as unknown[]);
  if (ys?.[0] !== zs?.[0]) return false;
  const [y, z] = [ys?.[1], zs?.[1]];
  return typeof y === "number" && typeof z === "number" ? Math.abs(y - z) <= SAME * most : y === z;
}

const listed = (names: string[]): string =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;

/** "The curves of fcfs and pin coincide.": of lines that hide each other only the last is seen. Empty if none do. */
export function coinciding(option: object): string {
  const { series } = option as { series?: unknown };
  const curves = ((series ?? []) as Curve[]).filter(({ type, name, data }) => type === "line" && name && (data?.length ?? 0) > 1);
  const ofPoint = (point: unknown) => Math.abs(Number((Array.isArray(point) ? point[1] : point) ?? 0)) || 0;
  const most = Math.max(0, ...curves.flatMap(({ data = [] }) => data.map(ofPoint)));
  const groups: Curve[][] = [];
  for (const curve of curves) {
    const group = groups.find(([first]) => first?.name !== curve.name && first?.data?.length === curve.data?.length &&
      first?.data?.every((point, i) => isSame(point, curve.data?.[i], most)));
    if (group) group.push(curve);
    else groups.push([curve]);
  }
  const same = groups.filter((group) => group.length > 1).map((group) => listed(group.map(({ name }) => name ?? "")));
  return same.length === 0 ? "" : `The curves of ${same.join(", those of ")} coincide.`;
}

// --- CSV -----------------------------------------------------------------------------------------

export const column = (name: string, values: CsvColumn["values"]): CsvColumn => ({ name, values });

/** One column for each name, from the values that `of` returns for a row. */
export function table<Row>(
  rows: Row[], columns: Record<string, (row: Row) => CsvValue>,
): CsvColumn[] {
  return Object.entries(columns).map(([name, of]) => column(name, rows.map(of)));
}

/**
 * The extra columns of every chart's CSV: source and kind of the numbers, and how many
 * repeats.
 */
export function sourced(
  panel: Panel, columns: CsvColumn[], jps: (row: number) => string,
  repeats: (row: number) => number,
): CsvColumn[] {
  const rows = Array.from({ length: columns[0]?.values.length ?? 0 }, (_, row) => row);
  return [
    ...columns,
    ...table(rows, {
      gpu: () => panel.gpu, settings: () => panel.settings, jps, figures: () => panel.kind, repeats,
    }),
  ];
}
