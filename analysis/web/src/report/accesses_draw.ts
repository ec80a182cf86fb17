// How the access log of a cell is drawn.
import { num, seconds } from "@/shared/format";
import { escapeHtml } from "@/shared/escape";
import { cssVar, palette } from "@/shared/theme";

import {
  KINDS, isValue, isWrite, place, shownText, type AccessChart, type BlockIdle,
} from "./accesses_data";
import {
  axisTip, brief, frame, table, xAxis, yAxis, type Drawing, type Key, type Option,
} from "./parts";

const LABELLED_CUTS = 12;
const NAMED_JOBS = 8;
const FILLED = 0.8; // of a block's row

const colorOf = (position: number): string => palette()[position % 8] ?? cssVar("--text");

const sourced = (chart: AccessChart) => ({
  cell: () => chart.cell, gpu: () => chart.gpu, figures: () => chart.kind,
});

interface CustomApi {
  value(at: number): number;
  coord(at: number[]): number[];
  visual(what: string): string;
}

/** A rectangle from the first to the second value of the datum and from the third to the fourth; hollow for writes. */
const renderAccess = (hollow: boolean) => (_: unknown, api: CustomApi) => {
  const [left = 0, bottom = 0] = api.coord([api.value(0), api.value(2)]);
  const [right = 0, top = 0] = api.coord([api.value(1), api.value(3)]);
  const color = api.visual("color");
  const least = hollow ? 4 : 2;
  const width = Math.max(least, right - left);
  const height = Math.max(least, bottom - top);
  const style = hollow ? { fill: "transparent", stroke: color, lineWidth: 1 } : { fill: color };
  return { type: "rect", shape: { x: left, y: top, width, height }, style };
};

/** Positions of marks by request and by whether they write, of keys or of values. */
function groups({ marks }: AccessChart, jobs: number[], values: boolean) {
  return jobs.flatMap((job, position) => [false, true].map((writes) => ({
    job, position, writes,
    rows: marks.t_ns.flatMap((_, i) => {
      const kind = marks.kind[i] ?? 0;
      return marks.job[i] === job && isWrite(kind) === writes && isValue(kind) === values ? [i] : [];
    }),
  }))).filter((group) => group.rows.length > 0);
}

const ascending = (numbers: number[]): number[] => [...new Set(numbers)].sort((a, b) => a - b);

const nameOf = (job: number, writes: boolean): string =>
  `request ${job}, ${writes ? "write" : "read"}`;

function cutLines(chart: AccessChart, axis: number): Option {
  const label = { show: axis === 0 && chart.cuts.length <= LABELLED_CUTS, color: cssVar("--muted") };
  return {
    type: "line", data: [], xAxisIndex: axis, yAxisIndex: axis, silent: true,
    markLine: {
      silent: true, symbol: "none", animation: false, lineStyle: { type: "dotted", color: cssVar("--edge") },
      data: chart.cuts.map(([from, lost]) => ({
        xAxis: (place(chart, from) + chart.kept_pause_ns / 2) / 1e3,
        label: { ...label, formatter: seconds((lost + chart.kept_pause_ns) / 1e9) },
      })),
    },
  };
}

/** Keys above values, a row for each block. */
export function accessesDrawing(chart: AccessChart): Drawing {
  const { marks } = chart;
  const blocks = ascending(marks.block);
  const rank = new Map(blocks.map((block, i) => [block, i]));
  const jobs = ascending(marks.job);
  const size = marks.first_slot.reduce((most, first, i) => Math.max(most, first + (marks.n_slots[i] ?? 0)), 1);
  const datum = (i: number): number[] => {
    const t = marks.t_ns[i] ?? 0;
    const row = rank.get(marks.block[i] ?? 0) ?? 0;
    const first = marks.first_slot[i] ?? 0;
    return [
      place(chart, t) / 1e3, place(chart, t + (marks.dur_ns[i] ?? 0)) / 1e3,
      row + FILLED * first / size, row + FILLED * (first + (marks.n_slots[i] ?? 0)) / size, i,
    ];
  };
  const time = { min: 0, max: marks.t_ns.reduce((end, _, i) => Math.max(end, datum(i)[1] ?? 0), 1) };
  const series = [false, true].flatMap((values) => [
    ...groups(chart, jobs, values).map(({ job, position, writes, rows }) => ({
      type: "custom", name: nameOf(job, writes), xAxisIndex: values ? 1 : 0, yAxisIndex: values ? 1 : 0,
      renderItem: renderAccess(writes), encode: { x: [0, 1], y: [2, 3] }, clip: true,
      color: colorOf(position), data: rows.map(datum),
    })),
    cutLines(chart, values ? 1 : 0),
  ]);
  const tip = ({ value }: { value: number[] }) => {
    const i = value[4] ?? 0;
    const slot = marks.first_slot[i] ?? 0;
    const slots = `slots ${slot} to ${slot + (marks.n_slots[i] ?? 1) - 1}`;
    const lines = [
      `request ${marks.job[i]}, ${KINDS[marks.kind[i] ?? 0]}`,
      `block ${marks.block[i]}, ${slots}, key head ${marks.kv_head[i]}`,
      `step ${marks.step[i]}, at ${num((marks.t_ns[i] ?? 0) / 1e3, 6)} µs for ${num((marks.dur_ns[i] ?? 0) / 1e3)} µs`,
    ];
    return lines.map(escapeHtml).join("<br>");
  };
  const block = { min: 0, max: blocks.length, axisLabel: { formatter: (at: number) => `${blocks[at] ?? ""}` }, minInterval: 1 };
  const inside = { type: "inside", zoomOnMouseWheel: "ctrl", filterMode: "none", xAxisIndex: [0, 1] };
  const option = frame({
    grid: [{ left: 58, right: 14, top: 30, height: "38%" }, { left: 58, right: 14, bottom: 42, height: "38%" }],
    dataZoom: [inside],
    xAxis: [xAxis("", { gridIndex: 0, axisLabel: { show: false }, ...time }),
      xAxis("time [µs], pauses cut", { gridIndex: 1, ...time, axisLabel: { formatter: brief, showMaxLabel: false } })],
    yAxis: [yAxis("K: block", { gridIndex: 0, ...block }), yAxis("V: block", { gridIndex: 1, ...block })],
    tooltip: { trigger: "item", formatter: tip },
    series,
  });
  return { option, keys: accessKeys(jobs), csv: accessCsv(chart), note: accessNote(chart, jobs) };
}

function accessKeys(jobs: number[]): Key[] {
  const named = jobs.slice(0, NAMED_JOBS).map((job, i): Key => ({ name: `request ${job}`, color: colorOf(i) }));
  const text = cssVar("--text");
  return [...named, { name: "read: filled", color: text }, { name: "write: hollow", color: text, fill: 0 }];
}

function accessNote(chart: AccessChart, jobs: number[]): string {
  const cut = chart.cuts.length > 0
    ? ` Dotted: ${chart.cuts.length} pause${chart.cuts.length > 1 ? "s" : ""} of all accesses, cut to ${seconds(chart.kept_pause_ns / 1e9)} each.`
    : "";
  const colors = jobs.length > NAMED_JOBS ? ` Colours repeat every ${NAMED_JOBS} of ${jobs.length} requests.` : "";
  return `${shownText(chart)}${cut}${colors} Rows are the blocks in the order of their numbers.`;
}

function accessCsv(chart: AccessChart): Drawing["csv"] {
  const { marks } = chart;
  return table(marks.t_ns.map((_, i) => i), {
    t_ns: (i) => marks.t_ns[i], dur_ns: (i) => marks.dur_ns[i], step: (i) => marks.step[i],
    access: (i) => KINDS[marks.kind[i] ?? 0], block: (i) => marks.block[i], first_slot: (i) => marks.first_slot[i],
    n_slots: (i) => marks.n_slots[i], kv_head: (i) => marks.kv_head[i], request: (i) => marks.job[i],
    ...sourced(chart),
  });
}

/** Bars of keys and values by block. */
function byBlock(chart: AccessChart, name: string, column: string, of: (block: BlockIdle) => number | null, note: string): Drawing {
  const blocks = ascending([...chart.keys, ...chart.values].map(([block]) => block));
  const caches = [["K", chart.keys], ["V", chart.values]] as const;
  const series = caches.map(([cache, list], i) => {
    const found = new Map(list.map((each) => [each[0], of(each)]));
    return { type: "bar", name: cache, color: colorOf(i), barGap: "0%", data: blocks.map((block) => found.get(block) ?? null) };
  });
  const rows = caches.flatMap(([cache, list]) => list.map((each) => ({ cache, each })));
  const every = Math.ceil(chart.blocks / Math.max(1, blocks.length));
  const thinned = every > 1 ? ` One block of each ${every} is shown.` : "";
  return {
    option: frame({
      xAxis: xAxis("block", { type: "category", data: blocks.map(String) }),
      yAxis: yAxis(name, { min: 0 }),
      tooltip: axisTip((block) => `block ${block}`, (value) => num(value, 4)),
      series,
    }),
    keys: caches.map(([cache], i): Key => ({ name: cache, color: colorOf(i) })),
    csv: table(rows, {
      cache: (row) => row.cache, block: (row) => row.each[0], [column]: (row) => of(row.each), ...sourced(chart),
    }),
    note: `${note} From the first to the last access of layer ${chart.layer} in the log.${thinned}`,
  };
}

export const idleDrawing = (chart: AccessChart): Drawing => byBlock(
  chart, "idle [%]", "idle_percent", ([, share]) => (share === null ? null : share * 100),
  "Share of the time in which the block was not accessed.");

export const sinceWriteDrawing = (chart: AccessChart): Drawing => byBlock(
  chart, "since the last write [ms]", "since_last_write_ms",
  ([, , , since]) => (since === null ? null : since * 1e3),
  "Time from a block's last write to the end; a block without one was not written while the log ran.");

export function windowDrawing(chart: AccessChart): Drawing {
  const rows = chart.window_use.map((use, i) => ({ forward: i + 1, use }));
  const first = chart.forwards > rows.length
    ? ` The first ${rows.length} of ${chart.forwards.toLocaleString("en-US")} are shown.` : "";
  return {
    option: frame({
      xAxis: xAxis("forward pass", { minInterval: 1, scale: true }),
      yAxis: yAxis("of the token budget [%]", { min: 0, max: 100 }),
      tooltip: axisTip((at) => `forward pass ${at}`, (value) => `${num(value, 4)} %`),
      series: [{
        type: "line", name: "window use", color: colorOf(0), symbolSize: 4, showSymbol: rows.length <= 60,
        data: rows.map(({ forward, use }) => [forward, use]),
      }],
    }),
    keys: [],
    csv: table(rows, { forward: (row) => row.forward, window_use_percent: (row) => row.use, ...sourced(chart) }),
    note: `Tokens of each forward pass, as a share of the token budget.${first}`,
  };
}
