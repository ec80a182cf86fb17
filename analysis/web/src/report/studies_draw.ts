// How a study's figure is drawn: results of cells filled, published values hollow and dashed.
import { num } from "@/shared/format";
import { cssVar, palette } from "@/shared/theme";

import {
  LOG, axisTip, frame, meanings, table, tipLine, xAxis, yAxis, type Drawing, type Key, type Option,
} from "./parts";
import {
  figuresOf, footOf, isExternal, isNumeric, ours, places, theirs,
  type StudyChart, type StudyPanel, type StudySeries,
} from "./studies_data";

const DASHED = [5, 4];
const PALE = 0.45;
const STRIPES = { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: -Math.PI / 4 };
const FEW = 40; // marks that fit on the line itself

const colorOf = (at: number): string => palette()[at % 8] ?? cssVar("--text");

/** The same numbers as columns. */
export function csvOf(chart: StudyChart, panel: StudyPanel): Drawing["csv"] {
  const rows = panel.series.flatMap((series) =>
    places({ ...panel, series: [series] }).map((x) => ({ series, x, own: ours(series, x) })));
  return table(rows, {
    series: ({ series }) => series.name,
    [chart.x_name]: ({ x }) => x,
    [chart.y_name]: ({ own }) => own?.[1],
    low: ({ own }) => own?.[2],
    high: ({ own }) => own?.[3],
    repeats: ({ own }) => own?.[4],
    published: ({ series, x }) => theirs(series, x),
    panel: () => panel.name,
    figures: ({ series }) => figuresOf(chart, series),
    gpu: () => chart.gpu,
  });
}

const drawing = (chart: StudyChart, panel: StudyPanel, option: Option, keys: Key[]): Drawing =>
  ({ option, keys, csv: csvOf(chart, panel), note: footOf(chart) });

const isPublished = (series: StudySeries): boolean => series.published.length > 0;

/** A figure of a single series gives it no name. */
const nameOf = (series: StudySeries): string => series.name || "these cells";

const publishedName = (series: StudySeries): string => `${nameOf(series)}, published`;

/** Names below the axis, rotated if there are many. */
function namesAxis(chart: StudyChart, xs: string[]): Option {
  const turned = xs.length > 5;
  return xAxis(chart.x_name, {
    type: "category", data: xs, nameGap: turned ? 46 : 26,
    axisLabel: { fontSize: 10, interval: 0, rotate: turned ? 25 : 0 },
  });
}

function axes(chart: StudyChart, xs: string[], numeric: boolean): Option {
  const along = chart.log_x ? { ...LOG, logBase: 2 } : { scale: true };
  return {
    xAxis: numeric ? xAxis(chart.x_name, along) : namesAxis(chart, xs),
    yAxis: yAxis(chart.y_name, chart.log_y ? LOG : { min: 0 }),
  };
}

function lines(chart: StudyChart, panel: StudyPanel): Drawing {
  const xs = places(panel);
  const numeric = isNumeric(xs);
  const at = (x: string): number | string => (numeric ? Number(x) : x);
  const series = panel.series.flatMap((each, i) => {
    const own = xs.flatMap((x) => (ours(each, x) ? [[at(x), ours(each, x)?.[1]]] : []));
    const other = xs.flatMap((x) => (theirs(each, x) === null ? [] : [[at(x), theirs(each, x)]]));
    const line = { type: "line", color: colorOf(i), symbolSize: 5 };
    const dashed = { width: 1, type: DASHED };
    const mark = isExternal(each) ? { symbol: "rect", symbolSize: 9, lineStyle: dashed } :
      { symbol: "circle", lineStyle: { width: 2 } };
    return [
      { ...line, name: nameOf(each), data: own, ...mark },
      { ...line, name: publishedName(each), data: other, symbol: "emptyCircle", lineStyle: dashed },
    ].filter((one) => one.data.length > 0);
  });
  const keys = panel.series.flatMap((each, i): Key[] => {
    const own: Key = isExternal(each) ? { name: nameOf(each), color: colorOf(i) }
      : { name: nameOf(each), color: colorOf(i), dash: "solid" };
    const other: Key = { name: publishedName(each), color: colorOf(i), dash: [3, 3] };
    return [...(each.points.length > 0 ? [own] : []), ...(isPublished(each) ? [other] : [])];
  });
  const tooltip = axisTip((x) => `${chart.x_name} ${x}`, (value) => num(value, 5));
  const zoom = numeric ? "xy" : "x";
  return drawing(chart, panel, frame({ zoom, ...axes(chart, xs, numeric), tooltip, series }), keys);
}

/** Bars of external results are pale and striped. */
const hatched = (series: StudySeries, at: number): Option => (isExternal(series)
  ? { itemStyle: { opacity: PALE, borderColor: colorOf(at), borderWidth: 1.5, decal: STRIPES } } : {});

function bars(chart: StudyChart, panel: StudyPanel): Drawing {
  const xs = places(panel);
  const series = panel.series.flatMap((each, i) => {
    const bar = { type: "bar", barGap: "5%" };
    const data = xs.map((x) => ours(each, x)?.[1]);
    const own = { ...bar, name: nameOf(each), color: colorOf(i), data, ...hatched(each, i) };
    const outline = { borderColor: colorOf(i), borderWidth: 1.5, borderType: "dashed" };
    const other = {
      ...bar, name: publishedName(each), color: "transparent", itemStyle: outline,
      data: xs.map((x) => theirs(each, x)),
    };
    return isPublished(each) ? [own, other] : [own];
  });
  const keys = panel.series.flatMap((each, i): Key[] => {
    const own: Key = { name: nameOf(each), color: colorOf(i), fill: isExternal(each) ? PALE : 1 };
    return isPublished(each) ? [own, { name: publishedName(each), color: colorOf(i), fill: 0 }] : [own];
  });
  const tooltip = axisTip((x) => x, (value) => num(value, 5));
  return drawing(chart, panel, frame({ ...axes(chart, xs, false), tooltip, series }), keys);
}

/** Preemptions and resumptions of requests; drawn above the lines if there are many. */
function marksOf(panel: StudyPanel) {
  const few = panel.marks.length <= FEW;
  const sorts = [
    { name: "evict", resumed: 0, rotate: 180, color: meanings().to_host, above: 109 },
    { name: "resume", resumed: 1, rotate: 0, color: meanings().vram, above: 104 },
  ];
  return sorts.map(({ name, resumed, rotate, color, above }) => ({
    type: "scatter", name, color, symbol: "triangle", symbolRotate: rotate, symbolSize: few ? 11 : 5,
    data: panel.marks.filter((mark) => mark[1] === resumed).map(([t, , level]) => [t, few ? level : above]),
  })).filter((each) => each.data.length > 0);
}

function overTime(chart: StudyChart, panel: StudyPanel): Drawing {
  const colors = [meanings().allocated, meanings().stall];
  const levels = panel.series.map((each, i) => ({
    type: "line", name: `${each.name} KV`, color: colors[i] ?? "", showSymbol: false,
    lineStyle: { width: 1.5 }, data: each.t.map((t, k) => [t, each.level[k]]),
  }));
  const marks = marksOf(panel);
  const keys: Key[] = [
    ...levels.map(({ name, color }): Key => ({ name, color, dash: "solid" })),
    ...marks.map(({ name, color }): Key => ({ name, color })),
  ];
  const rows = panel.series.flatMap((each) =>
    each.t.map((t, k) => ({ where: each.name, t, level: each.level[k] ?? null })));
  const csv = table(rows, {
    where: (row) => row.where, t_s: (row) => row.t, in_use_percent: (row) => row.level,
    panel: () => panel.name, figures: () => chart.kind,
  });
  const option = frame({
    xAxis: xAxis("time [s]"),
    yAxis: yAxis("KV in use [%]", { min: 0, max: 112 }),
    tooltip: axisTip((t) => `${t} s`, (value) => `${num(value, 3)} %`),
    series: [...levels, ...marks],
  });
  return { ...drawing(chart, panel, option, keys), csv };
}

function doing(): Record<string, string> {
  const color = meanings();
  return {
    prefill: color.prefill, recompute: color.again, decode: color.vram, "given way": color.free,
    "copied out": color.to_host, "copied in": color.dram, "waits for a copy": color.stall,
  };
}

interface CustomApi {
  value(at: number): number;
  coord(at: number[]): number[];
  size(at: number[]): number[];
  style(): object;
}

/** A bar from the first to the second value of the datum, in the row of the third. */
function renderSpan(_: unknown, api: CustomApi) {
  const [left = 0, middle = 0] = api.coord([api.value(0), api.value(2)]);
  const [right = 0] = api.coord([api.value(1), api.value(2)]);
  const height = (api.size([0, 1])[1] ?? 0) * 0.6;
  const shape = { x: left, y: middle - height / 2, width: Math.max(1, right - left), height };
  return { type: "rect", shape, style: api.style() };
}

function requests(chart: StudyChart, panel: StudyPanel): Drawing {
  const colors = doing();
  const rows = [...new Set(panel.spans.map((span) => span[0]))].sort((a, b) => a - b);
  const data = panel.spans.map(([request, what, from, to]) => (
    { value: [from, to, rows.indexOf(request)], what, itemStyle: { color: colors[what] } }));
  const tooltip = {
    formatter: (item: { marker: string; data: { what: string; value: number[] } }) => {
      const [from = 0, to = 0] = item.data.value;
      return tipLine(item.marker, item.data.what, `${num(from, 5)} to ${num(to, 5)} s`);
    },
  };
  const names = rows.map((_, i) => `request ${String.fromCharCode(65 + (i % 26))}`);
  const option = frame({
    grid: { left: 78, right: 14, top: 30, bottom: 42 },
    xAxis: xAxis("time [s]", { max: "dataMax" }),
    yAxis: { type: "category", data: names, inverse: true },
    tooltip,
    series: [{ type: "custom", renderItem: renderSpan, encode: { x: [0, 1], y: 2 }, data }],
  });
  const seen = Object.keys(colors).filter((what) => panel.spans.some((span) => span[1] === what));
  const csv = table(panel.spans, {
    request: (span) => span[0], what: (span) => span[1], from_s: (span) => span[2],
    to_s: (span) => span[3], panel: () => panel.name, figures: () => chart.kind,
  });
  const keys = seen.map((what): Key => ({ name: what, color: colors[what] ?? "" }));
  return { ...drawing(chart, panel, option, keys), csv };
}

export function drawStudy(chart: StudyChart, panel: StudyPanel): Drawing {
  if (chart.over === "time") return overTime(chart, panel);
  if (chart.over === "requests") return requests(chart, panel);
  return chart.draw === "bars" ? bars(chart, panel) : lines(chart, panel);
}
