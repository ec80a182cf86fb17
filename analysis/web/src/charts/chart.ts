// What every chart is: analysis/report/chart.hpp writes it and explains it. null is "not observed".
export type Interval = [number, number] | null;
export type Maybe = number | null;

export interface Axis {
  name: string;
  names?: string[];
  beside?: string[];
  log?: number;
  from?: number;
  to?: number;
  of_policies?: boolean;
}

export interface Series {
  name: string;
  draw: "line" | "steps" | "area" | "dots" | "bars" | "stack" | "boxes";
  policy?: string;
  color?: string;
  source?: string;
  mark?: "square" | "up" | "down" | "right";
  dashed?: boolean;
  hollow?: boolean;
  points?: boolean;
  quiet?: boolean;
  repeats?: number;
  x: Maybe[];
  y: Maybe[];
  low?: Maybe[];
  high?: Maybe[];
  end?: Maybe[];
  more?: Record<string, (Maybe | string)[]>;
}

export interface ChartPanel {
  name: string;
  x: Axis;
  y: Axis;
  flat?: boolean;
  downward?: boolean;
  series: Series[];
  lines?: [number, string][];
}

export interface Chart {
  id: string;
  title: string;
  note: string;
  kind: string;
  gpu: string;
  settings: string;
  jps: string;
  at: Record<string, string>;
  columns: number;
  is_table?: boolean;
  nothing?: string;
  height?: number; // pixels of a row of panels, if their kind does not say it
  panels: ChartPanel[];
}

/** Gives series without x that of the series before, as the program left it out. */
export function complete(charts: Chart[]): void {
  for (const { panels } of charts) {
    for (const { series } of panels) series.forEach((each, i) => (each.x ??= series[i - 1]?.x ?? []));
  }
}

/** The chart that a reader's choices name: of a choice that it does not have it is the same for all. */
export function chartAt(charts: Chart[], id: string, choices: Record<string, string>): Chart | undefined {
  return charts.find((chart) => chart.id === id &&
    Object.entries(chart.at).every(([name, value]) => choices[name] === value));
}

/** The name of a place, or the number itself. */
export const placeText = (axis: Axis, at: Maybe): string | number | null =>
  (at === null ? null : axis.names?.[at] ?? at);

/** Without policies that the reader hides: their series, their places on an axis, and panels that bear their names. */
export function without(chart: Chart, hidden: Set<string>): Chart {
  if (hidden.size === 0) return chart;
  const panels = chart.panels.filter(({ name }) => !hidden.has(name)).map((panel) => {
    const series = panel.series.filter(({ policy }) => policy === undefined || !hidden.has(policy));
    const { names = [] } = panel.x;
    if (!panel.x.of_policies) return { ...panel, series };
    const kept = names.flatMap((name, i) => (hidden.has(name) ? [] : [i]));
    return {
      ...panel, x: { ...panel.x, names: kept.map((i) => names[i] ?? "") },
      series: series.map((each) => ({ ...each, x: kept.map((_, i) => i), y: kept.map((i) => each.y[each.x.indexOf(i)] ?? null) })),
    };
  });
  const is_empty = panels.every(({ series, x }) => series.length === 0 || x.names?.length === 0);
  return { ...chart, panels, ...(is_empty && !chart.nothing ? { nothing: "No policy is shown." } : {}) };
}

/** A chart of each panel. */
export const panelsAlone = (chart: Chart): Chart[] => chart.panels.map((panel) =>
  ({ ...chart, title: chart.title + (panel.name === "" ? "" : `, ${panel.name}`), panels: [{ ...panel, name: "" }] }));
