// Figures of studies, as analysis/report/study_charts.cpp writes them.
import type { Maybe } from "./values";

/** x as displayed; median, minimum and maximum over the repeats; number of repeats. */
export type StudyPoint = [string, Maybe, Maybe, Maybe, number];

export interface StudySeries {
  name: string;
  /** The source of an external result; empty for cells. */
  external: string;
  points: StudyPoint[];
  published: [string, Maybe][];
  /** Over time: midpoints of equal spans, and means within them. */
  t: number[];
  level: Maybe[];
}

export interface StudyPanel {
  name: string;
  series: StudySeries[];
  /** Seconds; 1 for a resumed request, 0 for a preempted one; KV in use [%]. */
  marks: [number, number, number][];
  /** Request, its state, from and to [s]. */
  spans: [number, string, number, number][];
}

export interface StudyChart {
  study: string;
  figure: string;
  title: string;
  source: string;
  note: string;
  kind: string;
  gpu: string;
  over: "cells" | "forwards" | "time" | "requests";
  draw: "lines" | "bars" | "table";
  x_name: string;
  y_name: string;
  log_x: boolean;
  log_y: boolean;
  experiments: string[];
  remarks: string[];
  /** Positions in the report's external results. */
  externals: number[];
  panels: StudyPanel[];
}

const isNumber = (text: string): boolean => text !== "" && Number.isFinite(Number(text));

/** Whether x is a quantity rather than a name. */
export const isNumeric = (xs: string[]): boolean => xs.length > 0 && xs.every(isNumber);

/** Every x of a panel; numbers ascend, names keep the order in which they come. */
export function places(panel: StudyPanel): string[] {
  const all = panel.series.flatMap((each) => [...each.points, ...each.published].map(([x]) => x));
  const xs = [...new Set(all)];
  return isNumeric(xs) ? xs.sort((a, b) => Number(a) - Number(b)) : xs;
}

export const ours = (series: StudySeries, x: string): StudyPoint | undefined =>
  series.points.find((point) => point[0] === x);

export const theirs = (series: StudySeries, x: string): Maybe =>
  series.published.find((point) => point[0] === x)?.[1] ?? null;

export const isExternal = (series: StudySeries): boolean => series.external !== "";

/** What the numbers of a series are. */
export const figuresOf = (chart: StudyChart, series: StudySeries): string =>
  isExternal(series) ? `EXTERNAL: ${series.external}` : chart.kind;

/** What a reader must know of a chart. */
export function footOf(chart: StudyChart): string {
  const published = chart.panels.some((panel) => panel.series.some((each) => each.published.length > 0));
  const source = published ? `Published: ${chart.source}.` : "";
  const parts = [source, chart.note, ...chart.remarks.map((each) => `${each}.`)];
  return parts.filter((part) => part !== "").join(" ");
}
