// Draws any chart (chart.ts) with ECharts, and gives its legend and its numbers as columns.
import type { Option } from "@/charts/echarts";
import type { CsvColumn, CsvValue } from "@/shared/csv";
import { escapeHtml } from "@/shared/escape";
import { num } from "@/shared/format";
import { MEANING, meanings } from "@/shared/meanings";
import { cssVar, palette } from "@/shared/theme";

import { placeText, type Axis, type Chart, type ChartPanel, type Maybe, type Series } from "@/charts/chart";
import { brief, listed, looks, nothing, table, type Dash, type Drawing, type Key } from "@/charts/parts";

const DASHED = [5, 4], HOLLOW_BOX = 4, MANY_POINTS = 60, LONG_NAMES = 60, NARROW = 640;
const LOG = { type: "log", minorTick: { show: true, splitNumber: 9 }, minorSplitLine: { show: true } };
const RING = 15, LONG_TEXT = 220; // pixels
const MARKS = { square: ["rect", 0], up: ["triangle", 0], down: ["triangle", 180], right: ["triangle", -90] } as const;
const LABEL = { show: true, position: "top", distance: 3, fontSize: 10.5, minMargin: 4, textBorderWidth: 3 };
const GLYPHS: Record<string, string> = { square: "■", up: "▲", down: "▼", right: "▶", triangle: "▲", diamond: "◆" };

const isBar = ({ draw }: Series) => draw === "bars" || draw === "stack";
const isItem = ({ draw }: Series) => draw === "dots" || draw === "boxes";
const isBoxed = ({ series }: ChartPanel) => series.some(({ draw }) => draw === "boxes");
const top = ({ name }: ChartPanel) => (name === "" ? 30 : 46);

interface Look {
  color: string;
  dash: Dash;
  symbol: string;
}

function lookOf({ policy, color, dashed, mark }: Series, variants: string[]): Look {
  const own = policy === undefined ? undefined : looks(variants, policy);
  const chosen = color ?? "0";
  const known = Object.keys(MEANING).includes(chosen) ? meanings()[chosen as keyof typeof MEANING] : undefined;
  return {
    color: (color === undefined ? own?.color : undefined) ?? known ?? palette()[Number(chosen) % 8] ?? cssVar("--text"),
    dash: dashed ? DASHED : own?.type ?? "solid",
    symbol: mark ? MARKS[mark][0] : own?.symbol ?? "circle",
  };
}

// --- axes ----------------------------------------------------------------------------------------

/** The next smaller, or larger, of 1, 2 and 5 times a power of ten. */
export function nice(value: number, above: boolean): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-6)));
  const steps = above ? [1, 2, 5, 10].find((each) => each * power >= value) : [5, 2, 1].find((each) => each * power <= value);
  return power * (steps ?? 1);
}

/** A policy's changes are a line of their own. */
const inLines = (name: string): string => name.replace("+", "\n+");

/** Pixels that names beside a flat panel take. */
const besidePanel = (texts: string[] = []): number =>
  Math.min(LONG_TEXT, 6.8 * Math.max(0, ...texts.flatMap((each) => inLines(each).split("\n")).map(({ length }) => length)));

const hasBeside = ({ beside }: Axis): boolean => beside !== undefined && window.innerWidth >= NARROW;

/** Names that have no room beside each other are turned. */
const isTurned = ({ names = [] }: Axis): boolean => names.length * Math.max(0, ...names.map(({ length }) => length)) > LONG_NAMES;

/** `is_category`: places beside each other, as bars need them; names beside boxes have a quantity's axis. */
function axisOf(axis: Axis, is_category: boolean, more: object): object {
  const { name, names = [], log, from, to } = axis;
  const own = { name, nameLocation: "middle", nameTextStyle: { fontSize: 12 }, ...more };
  if (is_category) {
    return { ...own, type: "category", data: names, ...("isX" in more && isTurned(axis) ? { nameGap: 46, axisLabel: { fontSize: 10, interval: 0, rotate: 25 } } : {}) };
  }
  if (names.length > 0) {
    return { ...own, type: "value", min: -0.5, max: names.length - 0.5, minInterval: 1, axisLabel: { formatter: (at: number) => names[at] ?? "" } };
  }
  const ends = log === 10 && from === undefined
    ? { min: (v: { min: number }) => nice(v.min, false), max: (v: { max: number }) => nice(v.max, true) } : {};
  return {
    type: "value", ...(log ? LOG : {}), ...(log === 2 ? { logBase: 2 } : {}), ...own, ...ends,
    ...(from === undefined ? { scale: true } : { min: from }), ...(to === undefined ? {} : { max: to }),
    axisLabel: { formatter: brief, hideOverlap: true },
  };
}

function axesOf(panel: ChartPanel, at: number, is_last: boolean) {
  const has_bars = panel.series.some(isBar), boxed = isBoxed(panel);
  const x = axisOf(panel.x, panel.x.names !== undefined, { gridIndex: at, nameGap: 26, isX: true });
  const long = Math.max(0, ...(panel.y.names ?? []).map((each) => each.length));
  const y = axisOf(panel.y, false, { gridIndex: at, nameGap: long > 4 ? 66 : 44, ...(panel.downward ? { inverse: true } : {}) });
  if (panel.flat) {
    const places = { type: "category", gridIndex: at, inverse: true };
    const wrapped = { width: LONG_TEXT, overflow: "break", fontSize: 11, lineHeight: 14 };
    const none = { show: false };
    return {
      x: axisOf(panel.y, false, { gridIndex: at, nameGap: 26 }),
      y: [{ ...places, data: panel.x.names, axisLabel: { ...wrapped, formatter: inLines } },
        ...(hasBeside(panel.x) ? [{ ...places, data: panel.x.beside, position: "right", axisLine: none, axisTick: none, axisLabel: { ...wrapped, color: cssVar("--text") } }] : [])],
    };
  }
  const hidden = is_last ? {} : { name: "", axisLabel: { show: false } }, within = boxed && !panel.y.names;
  return {
    x: { ...x, ...(boxed || has_bars ? { axisLine: { onZero: false } } : {}), ...hidden },
    y: [within ? { ...y, splitNumber: 2, axisLabel: { formatter: brief, showMinLabel: false, showMaxLabel: false } } : y],
  };
}

// --- series --------------------------------------------------------------------------------------

interface CustomApi {
  value(at: number): number;
  coord(at: number[]): number[];
}

/** A rectangle from the first to the third value of the datum, and from the second to the fourth. */
const renderBox = (color: string, hollow: boolean) => (_: unknown, api: CustomApi) => {
  const [left = 0, bottom = 0] = api.coord([api.value(0), api.value(1)]);
  const [right = 0, above = 0] = api.coord([api.value(2), api.value(3)]);
  const least = hollow ? HOLLOW_BOX : 2;
  const width = Math.max(least, right - left), height = Math.max(least, Math.abs(above - bottom));
  const style = hollow ? { fill: "transparent", stroke: color, lineWidth: 1 } : { fill: color };
  return { type: "rect", shape: { x: left, y: Math.min(above, bottom), width, height }, style };
};

/** A range around a point; the places of a flat panel are below each other. */
const renderRange = (color: string, flat: boolean) => (_: unknown, api: CustomApi) => {
  const at = (end: number) => api.coord(flat ? [api.value(end), api.value(0)] : [api.value(0), api.value(end)]);
  const [x = 0, low = 0] = at(1), [right = 0, high = 0] = at(2);
  const line = (x1: number, y1: number, x2: number, y2: number) =>
    ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: color, lineWidth: 1.2 } });
  if (flat) return { type: "group", children: [line(x, low, right, low), line(x, low - 4, x, low + 4), line(right, low - 4, right, low + 4)] };
  return { type: "group", children: [line(x, low, x, high), line(x - 4, low, x + 4, low), line(x - 4, high, x + 4, high)] };
};

function rangesOf(series: Series, common: object, color: string, flat: boolean): object[] {
  const data = series.x.flatMap((x, i) => {
    const low = series.low?.[i] ?? null, high = series.high?.[i] ?? null;
    return low !== null && high !== null && low < high ? [[x, low, high]] : [];
  });
  if (data.length === 0 || series.draw === "boxes") return [];
  return [{ ...common, type: "custom", name: "", silent: true, renderItem: renderRange(color, flat), encode: flat ? { x: [1, 2], y: 0 } : { x: 0, y: [1, 2] }, data, z: 4, tooltip: { show: false } }];
}

function seriesOf(series: Series, panel: ChartPanel, axes: { x: number; y: number }, variants: string[]): object[] {
  const { draw, name, hollow = false } = series, { flat = false } = panel, { color, dash, symbol } = lookOf(series, variants);
  const common = { name, color, xAxisIndex: axes.x, yAxisIndex: axes.y };
  const points = series.x.map((x, i) => [x, series.y[i] ?? null]);
  if (isBar(series)) {
    const own = Array.from(panel.x.names ?? [], (_, i) => {
      const at = series.x.indexOf(i);
      return at < 0 ? null : series.y[at] ?? null;
    });
    const outline = { color: "transparent", borderColor: color, borderWidth: 1.5, borderType: "dashed" };
    return [{
      ...common, type: "bar", data: own, barGap: "5%", barMaxWidth: panel.flat ? 26 : undefined,
      ...(draw === "stack" ? { stack: "all", barCategoryGap: "15%" } : {}),
      ...(hollow ? { itemStyle: outline } : {}),
    }];
  }
  if (draw === "boxes") {
    const data = series.x.map((x, i) => [x, series.y[i] ?? null, series.end?.[i] ?? null, series.high?.[i] ?? null, i]);
    return [{ ...common, type: "custom", renderItem: renderBox(color, hollow), encode: { x: [0, 2], y: [1, 3] }, clip: true, data }];
  }
  if (draw === "dots") {
    const { label, steps } = series.more ?? {};
    return [{
      ...common, type: "scatter", symbol, symbolRotate: MARKS[series.mark ?? "square"][1],
      symbolSize: steps ? (_: unknown, { dataIndex }: { dataIndex: number }) => 3 + Math.min(9, Math.log10(Number(steps[dataIndex] ?? 1)) * 2.2) : hollow && label ? RING : 10,
      itemStyle: hollow ? { color: "transparent", borderColor: color, borderWidth: 1.6 } : { opacity: steps ? 0.5 : 1 },
      ...(label ? { labelLayout: { hideOverlap: true }, label: { ...LABEL, textBorderColor: cssVar("--card"), formatter: ({ dataIndex }: { dataIndex: number }) => String(label[dataIndex] ?? "") } } : {}),
      data: points.map(([x = null, y = null], i) => (flat ? [y, x, i] : [x, y, i])),
    }, ...rangesOf(series, common, color, flat)];
  }
  const stacked = draw === "area" ? { stack: `all-${axes.y}`, areaStyle: { opacity: color === meanings().free ? 0.3 : 1 } } : {};
  return [{
    ...common, ...stacked, type: "line", data: points, silent: series.quiet ?? false, connectNulls: false,
    symbol: hollow ? "emptyCircle" : series.mark ? symbol : "circle", symbolSize: series.mark ? 9 : 5,
    showSymbol: (series.points ?? false) && points.length <= MANY_POINTS, step: draw === "steps" ? "end" : false,
    lineStyle: { width: draw === "area" ? 0 : hollow ? 1 : 1.8, type: dash },
    ...(series.quiet ? { tooltip: { show: false }, z: 5 } : {}),
  }, ...rangesOf(series, common, color, flat)];
}

/** Vertical lines with labels. */
function linesOf({ lines = [] }: ChartPanel, at: { x: number; y: number }): object[] {
  if (lines.length === 0) return [];
  return [{
    type: "line", data: [], xAxisIndex: at.x, yAxisIndex: at.y, silent: true,
    markLine: {
      silent: true, symbol: "none", animation: false, lineStyle: { type: "dotted", color: cssVar("--edge") },
      data: lines.map(([xAxis, label]) => ({ xAxis, label: { show: label !== "", formatter: label, color: cssVar("--muted") } })),
    },
  }];
}

// --- under the pointer ---------------------------------------------------------------------------

interface Item {
  seriesName?: string;
  marker?: string;
  value?: unknown;
  axisValueLabel?: string;
  axisIndex?: number;
}

/** Everything at a place; "-" is a place without a name. Names come from archives, so they are escaped; markers are ECharts' own. */
export function axisTip(head: (text: string, panel: number) => string) {
  return (items: Item | Item[]): string => {
    const all = Array.isArray(items) ? items : [items], first = all[0];
    const lines = all.flatMap(({ value, marker = "", seriesName = "" }) => {
      const y = Array.isArray(value) ? (value as unknown[])[1] : value;
      return typeof y !== "number" || Number.isNaN(y) || seriesName === "" ? [] : [`${marker} ${escapeHtml(seriesName)} <b>${num(y)}</b>`];
    });
    const at = Array.isArray(first?.value) ? Number((first.value as unknown[])[0]) : NaN;
    const x = first?.axisValueLabel !== undefined && !Number.isFinite(at) ? first.axisValueLabel : Number.isFinite(at) ? num(at) : first?.axisValueLabel;
    const title = x === undefined || x === "-" ? [] : [escapeHtml(head(x, first?.axisIndex ?? 0))];
    return [...title, ...lines].join("<br>");
  };
}

/** The further columns of a series; labels only stand at its points. */
const columnsBeyond = ({ more = {} }: Series) => Object.entries(more).filter(([name]) => name !== "label");

/** One dot or box, with the further columns of its series. */
function itemTip(panel: ChartPanel, series: Series, i: number): string {
  const line = (name: string, text: string) => `${escapeHtml(name)} <b>${escapeHtml(text)}</b>`;
  const shown = (value: Maybe | string | undefined) => (typeof value === "number" ? num(value, 5) : value ?? "–");
  const more = columnsBeyond(series).map(([name, values]) => line(name, shown(values[i])));
  const x = placeText(panel.x, series.x[i] ?? null);
  const box = series.draw === "boxes";
  return [
    `<b>${escapeHtml(series.name)}</b>`,
    line(panel.x.name, box ? `${shown(x ?? undefined)} to ${shown(series.end?.[i])}` : String(shown(x ?? undefined))),
    ...(box ? [] : [line(panel.y.name, shown(series.y[i]))]), ...more,
  ].join("<br>");
}

// --- the chart -----------------------------------------------------------------------------------

/** Panels below each other where there is little room. */
const columnsOf = ({ columns, panels }: Chart): number => Math.min(window.innerWidth < NARROW ? 1 : columns, Math.max(1, panels.length));

const below = ({ x, flat }: ChartPanel): number => (!flat && isTurned(x) ? 62 : 42);

/** Panels below each other share their axis, below the last. */
const shares = (chart: Chart): boolean => columnsOf(chart) === 1 && chart.panels.length > 1 && (chart.height !== undefined || chart.panels.some(isBoxed));

function rowHeight(chart: Chart): number {
  const [first] = chart.panels;
  if (!first) return 160;
  if (chart.height) return chart.height;
  if (first.flat) return 60 + 34 * Math.max(2, first.x.names?.length ?? 0);
  if (!shares(chart)) return 270;
  return chart.panels.length > 2 || !first.y.names ? 110 : 235;
}

export const heightOf = (chart: Chart): number => (chart.nothing ? 160
  : rowHeight(chart) * Math.ceil(chart.panels.length / columnsOf(chart)) + (shares(chart) ? 42 : 0));

function gridOf(chart: Chart, panel: ChartPanel, i: number) {
  const columns = columnsOf(chart), share = 100 / columns, high = rowHeight(chart);
  const long = Math.max(0, ...(panel.y.names ?? []).map((each) => each.length));
  const sides = panel.flat ? {
    left: 12 + besidePanel(panel.x.names), right: hasBeside(panel.x) ? 12 + besidePanel(panel.x.beside) : 24,
  } : {
    left: columns === 1 ? (long > 4 ? 84 : 58) : `${(i % columns) * share + 6}%`,
    ...(columns === 1 ? { right: 14 } : { width: `${share - 8}%` }),
  };
  const under = shares(chart) ? 8 : below(panel);
  const above = panel.flat ? 8 : chart.height && panel.name !== "" ? 24 : top(panel);
  return { ...sides, ...(shares(chart) ? { outerBoundsMode: "none" } : {}), top: Math.floor(i / columns) * high + above, height: high - above - under };
}

const ZOOM = { type: "inside", zoomOnMouseWheel: "ctrl", moveOnMouseMove: true, filterMode: "none" };
const TOOLBOX = {
  right: 6, top: -2, itemSize: 13,
  feature: { dataZoom: { title: { zoom: "Zoom into a box", back: "Zoom back" }, filterMode: "none" }, restore: { title: "Whole chart" } },
};

/** `variants`: all policies of the report, whose colors and dashes differ from each other. */
export function draw(chart: Chart, variants: string[]): Drawing {
  if (chart.nothing) return { ...nothing(chart.nothing), note: "" };
  const axes: { x: object[]; y: object[] } = { x: [], y: [] }, series: object[] = [], drawn: { panel: ChartPanel; of?: Series }[] = [];
  chart.panels.forEach((panel, i) => {
    const own = axesOf(panel, i, !shares(chart) || i + 1 === chart.panels.length), at = { x: axes.x.length, y: axes.y.length };
    axes.x.push(own.x);
    axes.y.push(...own.y);
    for (const each of panel.series) {
      for (const [k, option] of seriesOf(each, panel, at, variants).entries()) {
        series.push(option);
        drawn.push({ panel, ...(k === 0 ? { of: each } : {}) });
      }
    }
    const marks = linesOf(panel, at);
    series.push(...marks);
    drawn.push(...marks.map(() => ({ panel })));
  });
  const all = chart.panels.flatMap((panel) => panel.series), is_item = all.length > 0 && all.every((each) => isItem(each) || each.quiet);
  const itemOf = ({ seriesIndex = 0, dataIndex = 0 }: { seriesIndex?: number; dataIndex?: number }) => {
    const found = drawn[seriesIndex];
    return found?.of ? itemTip(found.panel, found.of, dataIndex) : "";
  };
  const head = (text: string, panel: number) => {
    const x: Axis = (chart.panels[panel] ?? chart.panels[0])?.x ?? { name: "" };
    return x.names ? text.replace(/^(?=\d+$)/, `${x.name} `) : `${x.name} ${text}`;
  };
  const all_x = chart.panels.map((_, i) => i), is_flat = chart.panels.some(({ flat }) => flat);
  const option: Option = {
    grid: chart.panels.map((panel, i) => gridOf(chart, panel, i)),
    title: chart.panels.map(({ name }, i) => ({
      text: name, left: columnsOf(chart) === 1 ? 8 : `${(i % columnsOf(chart)) * 100 / columnsOf(chart) + 5}%`,
      top: Math.floor(i / columnsOf(chart)) * rowHeight(chart) + 2, padding: 2, textStyle: { fontSize: 12, fontWeight: "normal", color: cssVar("--text") },
    })),
    xAxis: axes.x, yAxis: axes.y, series,
    ...(is_flat ? {} : { dataZoom: [{ ...ZOOM, xAxisIndex: all_x }, ...(is_item && all_x.length === 1 ? [{ ...ZOOM, yAxisIndex: 0 }] : [])] }),
    ...(is_flat || all_x.length > 2 ? {} : { toolbox: TOOLBOX }),
    tooltip: is_item ? { trigger: "item", formatter: itemOf } : { trigger: "axis", axisPointer: { type: all.some(isBar) ? "shadow" : "line" }, formatter: axisTip(head) },
  };
  return { option, keys: keysOf(all, variants), csv: csvOf(chart), note: [chart.note, coinciding(chart)].filter((each) => each !== "").join(" ") };
}

/** Names once, as they are drawn. */
export function keysOf(all: Series[], variants: string[]): Key[] {
  const keys = new Map<string, Key>();
  for (const series of all) {
    const { name, draw: how, quiet, hollow, mark } = series;
    if (quiet || name === "" || keys.has(name)) continue;
    const { color, dash, symbol } = lookOf(series, variants);
    const is_line = how === "line" || how === "steps", glyph = GLYPHS[mark ?? symbol];
    const look = how === "dots" ? { glyph: hollow ? "○" : glyph ?? "●" }
      : is_line ? { dash: hollow ? [3, 3] : dash, ...(mark && glyph ? { glyph } : {}) } : { fill: hollow ? 0 : 1 };
    keys.set(name, { name, color, ...look });
  }
  return [...keys.values()];
}

// --- the same numbers as columns -----------------------------------------------------------------

export function csvOf(chart: Chart): CsvColumn[] {
  const rows = chart.panels.flatMap((panel) => panel.series.flatMap((series) =>
    series.x.map((_, i) => ({ panel, series, i }))));
  const all = chart.panels.flatMap((panel) => panel.series), [first] = chart.panels;
  const of_policies = all.every(({ policy }) => policy !== undefined);
  const more = [...new Set(all.flatMap((each) => columnsBeyond(each).map(([name]) => name)))];
  type Row = (typeof rows)[number];
  const has = (key: "low" | "high" | "end") => all.some((each) => each[key] !== undefined);
  const optional = (key: "low" | "high" | "end", name: string): Record<string, (row: Row) => CsvValue> =>
    (has(key) ? { [name]: ({ series, i }) => series[key]?.[i] } : {});
  return table(rows, {
    [of_policies ? "policy" : "series"]: ({ series }) => series.policy ?? series.name,
    ...(chart.panels.length > 1 ? { panel: ({ panel }: Row) => panel.name } : {}),
    ...(chart.at["policy"] ? { policy: () => chart.at["policy"] } : {}),
    [first?.x.name ?? "x"]: ({ panel, series, i }) => placeText(panel.x, series.x[i] ?? null),
    ...optional("end", "until"),
    [chart.panels.length > 1 ? "value" : first?.y.name ?? "y"]: ({ series, i }) => series.y[i],
    ...optional("low", "low"), ...optional("high", "high"),
    ...Object.fromEntries(more.filter((name) => name !== "repeats").map((name) => [name, ({ series, i }: Row) => series.more?.[name]?.[i]])),
    figures: ({ series }) => series.source ?? chart.kind,
    gpu: () => chart.gpu, settings: () => chart.settings, jps: () => chart.jps,
    repeats: ({ series, i }) => series.more?.["repeats"]?.[i] ?? series.repeats,
  });
}

// --- curves that coincide ------------------------------------------------------------------------

const SAME = 0.005; // of the largest value: less than the width of a line

/** "The curves of fcfs and pin coincide.": of lines that hide each other only the last is seen. Empty if none do. */
export function coinciding({ panels }: Chart): string {
  const groups: Series[][] = [];
  for (const panel of panels.slice(0, 1)) {
    const curves = panel.series.filter(({ draw: how, quiet, x }) => (how === "line" || how === "steps") && !quiet && x.length > 1);
    const most = Math.max(0, ...curves.flatMap(({ y }) => y.map((each) => Math.abs(each ?? 0))));
    const same = (a: Maybe, b: Maybe) => (a === null || b === null ? a === b : Math.abs(a - b) <= SAME * most);
    for (const curve of curves) {
      const group = groups.find(([first]) => first?.x.length === curve.x.length &&
        first.x.every((x, i) => x === curve.x[i] && same(first.y[i] ?? null, curve.y[i] ?? null)));
      if (group) group.push(curve);
      else groups.push([curve]);
    }
  }
  const same = groups.filter((group) => group.length > 1).map((group) => listed(group.map(({ name }) => name)));
  return same.length === 0 ? "" : `The curves of ${same.join(", those of ")} coincide.`;
}
