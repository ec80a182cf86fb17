// Charts of steps: their sizes, and durations by size.
import { num } from "@/shared/format";
import { escapeHtml } from "@/shared/escape";
import { cssVar } from "@/shared/theme";

import { ALL, type Fit, type Pool, type Sizes } from "./data";
import {
  LOG, axisTip, brief, frame, looks, nothing, xAxis, yAxis, type Drawing, type Key,
} from "./parts";
import { about, asPublished, dotKeys, lineKeys, long, poolsOf, type Row } from "./pools";
import type { Store } from "./state";

const FLOOR = 0.5; // below one step, where bins of a log histogram are empty

export const X_NAMES = {
  largest: "tokens of the largest request",
  total: "tokens of the step",
} as const;

export function fitText(fit: Fit): string {
  if (fit.slope_us === null) return `no line fits ${num(fit.n)} steps of one size`;
  const line = `y = ${num(fit.slope_us / 1e3, 3)}·x + ${num(fit.intercept_ms, 3)} ms`;
  return `${line}, R² = ${num(fit.r2, 3)}, ${num(fit.n)} steps`;
}

/** The outline of a log histogram: (x, steps) at every edge, on the floor where bins are empty. */
export function outline(histogram: Sizes["histogram"]): [number, number][] {
  const points: [number, number][] = [];
  let end = -1;
  for (const [low, high, count] of histogram) {
    const x = Math.max(low, FLOOR);
    if (end >= 0 && end < low) points.push([Math.max(end, FLOOR), FLOOR]);
    if (end < 0) points.push([x, FLOOR]);
    points.push([x, count]);
    end = high;
  }
  if (end >= 0) points.push([end, FLOOR]);
  return points;
}

function outlineSeries(store: Store, pool: Pool): object {
  const look = looks(store.variants, pool.variant);
  return {
    type: "line", name: pool.variant, step: "end", symbol: "none", color: look.color,
    data: outline(pool[store.state.x].histogram), lineStyle: { width: 1.8, type: look.type },
  };
}

export function tokensChart(store: Store): Drawing {
  const list = poolsOf(store);
  if (list.length === 0) return nothing("No policy is shown.");
  const { x } = store.state;
  const label = (floor: string) => ({ formatter: (v: number) => (v < 1 ? floor : brief(v)) });
  const rows = list.flatMap((pool) =>
    pool[x].histogram.map((bin): Row => ({ of: pool, values: bin })),
  );
  return {
    option: frame({
      xAxis: xAxis(X_NAMES[x], { ...LOG, min: FLOOR, axisLabel: label("0") }),
      yAxis: yAxis("number of steps", { ...LOG, min: FLOOR, axisLabel: label("") }),
      tooltip: axisTip(
        (at) => `${at} tokens and more`,
        (y) => (y < 1 ? "0 steps" : `${num(y)} steps`),
      ),
      series: list.map((pool) => outlineSeries(store, pool)),
    }),
    keys: lineKeys(store, list.map((pool) => pool.variant)),
    csv: long(store, ["from_tok", "below_tok", "steps"], rows),
    note: "Steps by size, in quarter octaves, both axes logarithmic. " +
      `${about(store, list)}.${asPublished(store, "a")}`,
  };
}

// --- step time over tokens -----------------------------------------------------------------------

type Point = [tokens: number, ms: number, steps: number];

function pointsOf(store: Store, variant: string): Point[] {
  const { rate, x } = store.state;
  const points: Point[] = [];
  for (const group of store.panel.groups) {
    if (group.variant !== variant || (rate !== ALL && group.jps !== rate)) continue;
    const flat = group[x].points ?? [];
    for (let i = 0; i + 2 < flat.length; i += 3) {
      points.push([flat[i] ?? 0, flat[i + 1] ?? 0, flat[i + 2] ?? 0]);
    }
  }
  return points;
}

interface NamedFit {
  name: string;
  fit: Fit;
  color: string;
}

/**
 * The line through the data shown: of all policies together if all rates are shown, otherwise the best
 * known one of each.
 */
function shownFits(store: Store, list: Pool[]): NamedFit[] {
  const { rate, x, hidden } = store.state;
  const all = store.panel.all[0];
  if (rate === ALL && hidden.size === 0 && all) {
    return [{ name: "all policies", fit: all[x].fit, color: cssVar("--text") }];
  }
  return list.map((pool) => ({
    name: pool.variant, fit: pool[x].fit, color: looks(store.variants, pool.variant).color,
  }));
}

function fitSeries({ name, fit, color }: NamedFit, end: number): object[] {
  const { slope_us, intercept_ms } = fit;
  if (slope_us === null || intercept_ms === null) return [];
  return [{
    type: "line", name: `fit, ${name}`, symbol: "none", color, silent: true, z: 5,
    data: [[0, intercept_ms], [end, intercept_ms + (end * slope_us) / 1e3]],
    lineStyle: { width: 2, type: "dashed" }, tooltip: { show: false },
  }];
}

function pointSeries(store: Store, variant: string, data: Point[]): object {
  return {
    type: "scatter", name: variant, data, color: looks(store.variants, variant).color,
    symbol: looks(store.variants, variant).symbol,
    symbolSize: (value: number[]) => 3 + Math.min(9, Math.log10(value[2] ?? 1) * 2.2),
    itemStyle: { opacity: 0.5 },
  };
}

function pointTip(item: { seriesName?: string; value?: unknown }): string {
  const [tokens, ms, steps] = item.value as Point;
  const stands = `stands for ${num(steps)} step${steps === 1 ? "" : "s"}`;
  const name = escapeHtml(item.seriesName ?? "");
  return `${name}<br>${num(tokens)} tokens, <b>${num(ms)} ms</b><br>${stands}`;
}

function stepTimeNote(fits: NamedFit[]): string {
  const [first] = fits;
  const line = fits.length === 1 && first
    ? `${first.name}: ${fitText(first.fit)}`
    : "Dashed: least squares of each policy (table below)";
  return `${line}. Fitted over all steps; drawn is one step of each twelfth of an octave in both ` +
    "directions, larger where it stands for more.";
}

export function stepTimeChart(store: Store): Drawing {
  const list = poolsOf(store);
  if (list.length === 0) return nothing("No policy is shown.");
  const series = list.map((pool) => ({ pool, points: pointsOf(store, pool.variant) }));
  const end = series.reduce(
    (most, each) => each.points.reduce((far, point) => Math.max(far, point[0]), most), 1,
  );
  const fits = shownFits(store, list);
  const rows = series.flatMap(({ pool, points }) =>
    points.map((values): Row => ({ of: pool, values })),
  );
  const keys: Key[] = dotKeys(store, list.map((pool) => pool.variant));
  if (fits.length === 1) {
    keys.push({ name: "least squares", color: cssVar("--text"), dash: [6, 4] });
  }
  return {
    option: frame({
      zoom: "xy",
      xAxis: xAxis(X_NAMES[store.state.x], {
        max: end, axisLabel: { formatter: brief, showMaxLabel: false },
      }),
      yAxis: yAxis("step duration [ms]"),
      tooltip: { trigger: "item", formatter: pointTip },
      series: [
        ...series.map(({ pool, points }) => pointSeries(store, pool.variant, points)),
        ...fits.flatMap((fit) => fitSeries(fit, end)),
      ],
    }),
    keys,
    csv: long(store, ["tokens", "step_ms", "steps"], rows),
    note: `${stepTimeNote(fits)} ${about(store, list)}.${asPublished(store, "b")}`,
  };
}
