import type { Option } from "@/charts/echarts";
import type { CsvColumn, CsvValue } from "@/shared/csv";
import { h } from "@/shared/dom";
import { num } from "@/shared/format";
import { policyLook } from "@/shared/policy_looks";
import { cssVar, pageFont, palette } from "@/shared/theme";

export type Dash = "solid" | number[];

/** A legend entry of a chart. */
export interface Key {
  name: string;
  color: string;
  /** A line with this dash; an area if there is none. */
  dash?: Dash;
  /** An area with an outline, filled with this much of the color. */
  fill?: number;
  /** The mark of a dot, or of points on the line. */
  glyph?: string;
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

/** 1,500,000 as 1.5M: labels of axes have little room. */
export function brief(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${num(value / 1e9, 3)}G`;
  if (size >= 1e6) return `${num(value / 1e6, 3)}M`;
  if (size >= 1e4) return `${num(value / 1e3, 3)}k`;
  return num(value, 3);
}

/** A sample of the chart's style for the item that the text beside it names. */
export function swatch({ color, dash, fill, glyph }: Key): HTMLElement {
  const element = h("span", { class: "swatch", "aria-hidden": "true" });
  element.style.color = color;
  if (glyph && !dash) {
    element.classList.add("dotted");
    element.textContent = glyph;
  } else if (dash) {
    if (glyph) element.dataset["mark"] = glyph;
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
        text: why, fill: cssVar("--muted"), font: `14px ${pageFont()}`, lineHeight: 20, width: 280,
        overflow: "break", textAlign: "center",
      },
    },
  },
  keys: [],
  csv: [],
  note: "",
  is_empty: why !== "",
});

export const listed = (names: string[]): string =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;

// --- CSV -----------------------------------------------------------------------------------------

/** One column for each name, from the values that `of` returns for a row. */
export function table<Row>(
  rows: Row[], columns: Record<string, (row: Row) => CsvValue>,
): CsvColumn[] {
  return Object.entries(columns).map(([name, of]) => ({ name, values: rows.map(of) }));
}
