// How a figure of a study is drawn: what cells gave filled, what is published hollow and dashed.
import { num } from "@/shared/format";
import { cssVar, palette } from "@/shared/theme";

import { LOG, axisTip, frame, meanings, tipLine, xAxis, yAxis, type Drawing, type Key, type Option } from "./parts";
import { footOf, isNumeric, ours, places, theirs, type StudyChart, type StudyPanel, type StudySeries } from "./studies_data";

const DASHED = [5, 4];

const colorOf = (at: number): string => palette()[at % 8] ?? cssVar("--text");

/** The same numbers as columns. */
function csvOf(chart: StudyChart, panel: StudyPanel): Drawing["csv"] {
  const rows = panel.series.flatMap((series) => places({ ...panel, series: [series] }).map((x) => ({ series, x, own: ours(series, x) })));
  const column = (name: string, of: (row: (typeof rows)[number]) => string | number | null | undefined) => ({ name, values: rows.map(of) });
  return [
    column("series", ({ series }) => series.name), column(chart.x_name, ({ x }) => x), column(chart.y_name, ({ own }) => own?.[1]),
    column("low", ({ own }) => own?.[2]), column("high", ({ own }) => own?.[3]), column("repeats", ({ own }) => own?.[4]),
    column("published", ({ series, x }) => theirs(series, x)), column("panel", () => panel.name), column("figures", () => chart.kind),
    column("gpu", () => chart.gpu),
  ];
}

const drawing = (chart: StudyChart, panel: StudyPanel, option: Option, keys: Key[]): Drawing =>
  ({ option, keys, csv: csvOf(chart, panel), note: footOf(chart) });

const published = (series: StudySeries): boolean => series.published.length > 0;

function valueAxes(chart: StudyChart, numeric: boolean, xs: string[]): Option {
  const x = numeric ? xAxis(chart.x_name, chart.log_x ? { ...LOG, logBase: 2 } : { scale: true })
    : xAxis(chart.x_name, { type: "category", data: xs, axisLabel: { fontSize: 10, interval: 0, rotate: xs.length > 5 ? 25 : 0 }, nameGap: xs.length > 5 ? 46 : 26 });
  return { xAxis: x, yAxis: yAxis(chart.y_name, chart.log_y ? LOG : { min: 0 }) };
}

function lines(chart: StudyChart, panel: StudyPanel): Drawing {
  const xs = places(panel);
  const numeric = isNumeric(xs);
  const at = (x: string): number | string => (numeric ? Number(x) : x);
  const series = panel.series.flatMap((each, i) => {
    const own = xs.flatMap((x) => (ours(each, x) ? [[at(x), ours(each, x)?.[1]]] : []));
    const other = xs.flatMap((x) => (theirs(each, x) === null ? [] : [[at(x), theirs(each, x)]]));
    const line = { type: "line", color: colorOf(i), symbolSize: 5 };
    return [
      { ...line, name: each.name, data: own, symbol: "circle", lineStyle: { width: 2 } },
      { ...line, name: `${each.name}, published`, data: other, symbol: "emptyCircle", lineStyle: { width: 1, type: DASHED } },
    ].filter((one) => one.data.length > 0);
  });
  const keys = panel.series.flatMap((each, i): Key[] => [
    ...(each.points.length > 0 ? [{ name: each.name, color: colorOf(i), dash: "solid" }] : []),
    ...(published(each) ? [{ name: `${each.name}, published`, color: colorOf(i), dash: [3, 3] }] : []),
  ]);
  const tooltip = axisTip((x) => `${chart.x_name} ${x}`, (value) => num(value, 5));
  return drawing(chart, panel, frame({ zoom: numeric ? "xy" : "x", ...valueAxes(chart, numeric, xs), tooltip, series }), keys);
}

function bars(chart: StudyChart, panel: StudyPanel): Drawing {
  const xs = places(panel);
  // A hidden bar of the published height carries its mark, so that it stands where the bar beside it does.
  const series = panel.series.flatMap((each, i) => [
    { type: "bar", name: each.name, color: colorOf(i), data: xs.map((x) => ours(each, x)?.[1] ?? null), barGap: "5%" },
    ...(published(each) ? [{
      type: "bar", name: `${each.name}, published`, color: "transparent", barGap: "5%", data: xs.map((x) => theirs(each, x)),
      itemStyle: { borderColor: colorOf(i), borderWidth: 1.5, borderType: "dashed" },
    }] : []),
  ]);
  const keys = panel.series.flatMap((each, i): Key[] => [
    { name: each.name, color: colorOf(i) }, ...(published(each) ? [{ name: `${each.name}, published`, color: colorOf(i), fill: 0 }] : []),
  ]);
  return drawing(chart, panel, frame({ ...valueAxes(chart, false, xs), tooltip: axisTip((x) => x, (value) => num(value, 5)), series }), keys);
}

function overTime(chart: StudyChart, panel: StudyPanel): Drawing {
  const colors = [meanings().allocated, meanings().stall];
  const levels = panel.series.map((each, i) => ({
    type: "line", name: `${each.name} KV`, color: colors[i], showSymbol: false, lineStyle: { width: 1.5 }, data: each.t.map((t, k) => [t, each.level[k]]),
  }));
  const few = panel.marks.length <= 40;
  const marks = [["evict", 0, 180, meanings().to_host], ["resume", 1, 0, meanings().vram]] as const;
  const points = marks.map(([name, resumed, rotate, color]) => ({
    type: "scatter", name, color, symbol: "triangle", symbolRotate: rotate, symbolSize: few ? 11 : 5,
    data: panel.marks.filter((mark) => mark[1] === resumed).map(([t, , level]) => [t, few ? level : resumed === 1 ? 104 : 109]),
  })).filter((each) => each.data.length > 0);
  const keys: Key[] = [
    ...levels.map((each): Key => ({ name: each.name, color: each.color ?? "", dash: "solid" })), ...points.map((each): Key => ({ name: each.name, color: each.color })),
  ];
  const rows = panel.series.flatMap((each) => each.t.map((t, k) => ({ where: each.name, t, level: each.level[k] ?? null })));
  const csv = [
    { name: "where", values: rows.map((row) => row.where) }, { name: "t_s", values: rows.map((row) => row.t) },
    { name: "in use [%]", values: rows.map((row) => row.level) }, { name: "figures", values: rows.map(() => chart.kind) },
  ];
  const option = frame({
    xAxis: xAxis("time [s]"), yAxis: yAxis("KV in use [%]", { min: 0, max: 112 }), tooltip: axisTip((t) => `${t} s`, (value) => `${num(value, 3)} %`),
    series: [...levels, ...points],
  });
  return { ...drawing(chart, panel, option, keys), csv };
}

function doing(): Record<string, string> {
  const color = meanings();
  return {
    prefill: color.prefill, recompute: color.again, decode: color.vram, "given way": color.free, "copied out": color.to_host,
    "copied in": color.dram, "waits for a copy": color.stall,
  };
}

function requests(chart: StudyChart, panel: StudyPanel): Drawing {
  const colors = doing();
  const rows = [...new Set(panel.spans.map((span) => span[0]))].sort((a, b) => a - b);
  const name = (row: number) => `request ${String.fromCharCode(65 + (row % 26))}`;
  const data = panel.spans.map(([request, what, from, to]) => ({ value: [from, to, rows.indexOf(request)], what, itemStyle: { color: colors[what] } }));
  const renderItem = (_: unknown, api: { value(i: number): number; coord(at: number[]): number[]; size(at: number[]): number[]; style(): object }) => {
    const [left = 0, middle = 0] = api.coord([api.value(0), api.value(2)]);
    const [right = 0] = api.coord([api.value(1), api.value(2)]);
    const height = (api.size([0, 1])[1] ?? 0) * 0.6;
    return { type: "rect", shape: { x: left, y: middle - height / 2, width: Math.max(1, right - left), height }, style: api.style() };
  };
  const tooltip = {
    formatter: (item: { marker: string; data: { what: string; value: number[] } }) =>
      tipLine(item.marker, item.data.what, `${num(item.data.value[0] ?? 0, 5)} to ${num(item.data.value[1] ?? 0, 5)} s`),
  };
  const option = frame({
    grid: { left: 78, right: 14, top: 30, bottom: 42 }, xAxis: xAxis("time [s]", { max: "dataMax" }), tooltip,
    yAxis: { type: "category", data: rows.map((_, i) => name(i)), inverse: true }, series: [{ type: "custom", renderItem, encode: { x: [0, 1], y: 2 }, data }],
  });
  const seen = Object.keys(colors).filter((what) => panel.spans.some((span) => span[1] === what));
  const csv = [
    { name: "request", values: panel.spans.map((span) => span[0]) }, { name: "what", values: panel.spans.map((span) => span[1]) },
    { name: "from_s", values: panel.spans.map((span) => span[2]) }, { name: "to_s", values: panel.spans.map((span) => span[3]) },
    { name: "figures", values: panel.spans.map(() => chart.kind) },
  ];
  return { ...drawing(chart, panel, option, seen.map((what) => ({ name: what, color: colors[what] ?? "" }))), csv };
}

export function drawStudy(chart: StudyChart, panel: StudyPanel): Drawing {
  if (chart.over === "time") return overTime(chart, panel);
  if (chart.over === "requests") return requests(chart, panel);
  return chart.draw === "bars" ? bars(chart, panel) : lines(chart, panel);
}

