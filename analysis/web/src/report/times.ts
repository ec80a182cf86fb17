// Charts over the time of one cell.
import { num } from "@/shared/format";
import type { CsvColumn } from "@/shared/csv";

import { dramSizes, groupOf, rateText, timeLine, valuesOf, type Maybe, type Times } from "./data";
import {
  axisTip, brief, column, frame, meanings, nothing, sourced, xAxis, yAxis, type Drawing,
} from "./parts";
import { lineKeys, lineSeries } from "./pools";
import type { Store } from "./state";

/** The middles of equal spans of [0, end]. */
const middles = (end: Maybe, count: number): number[] =>
  Array.from({ length: count }, (_, i) => ((i + 0.5) * (end ?? 0)) / count);

const points = (t: number[], values: Maybe[]) => values.map((value, i) => [t[i] ?? 0, value]);

const spansText = (count: number): string => `means over ${count} equal spans of time`;

/** The cell that charts over time show, as a text. */
function cellText(store: Store): string {
  const { focus, repeat } = store.state;
  const group = groupOf(store.panel, store.cellRate, focus);
  const cell = group?.cells[repeat] ?? group?.cells[0];
  const seed = cell ? `, seed ${cell.seed}` : "";
  const which = `repeat ${repeat + 1} of ${group?.repeats ?? 0}`;
  const [archive, ...others] = store.report.archives;
  const trace = cell && archive && others.length === 0
    ? `; its trace: kvsweep trace ${archive.name} ${cell.index} --view` : "";
  return `${focus} at ${rateText(store.cellRate)}${seed} (${which})${trace}`;
}

function timesOf(store: Store, variant: string): Times | undefined {
  const group = groupOf(store.panel, store.cellRate, variant);
  return group?.times[store.state.repeat] ?? group?.times[0];
}

/** Columns of one cell. Its numbers are of one repeat, which a column names. */
function ofCell(store: Store, columns: CsvColumn[], policies?: string[]): CsvColumn[] {
  const rows = columns[0]?.values.length ?? 0;
  const policy = policies ?? Array.from({ length: rows }, () => store.state.focus);
  return [
    column("policy", policy),
    ...sourced(store.panel, columns, () => store.cellRate, () => 1),
    column("repeat", Array.from({ length: rows }, () => store.state.repeat + 1)),
  ];
}

const timeAxis = (times: Times) =>
  xAxis("time [s]", { max: times.end, axisLabel: { formatter: brief, showMaxLabel: false } });

const noSteps = (store: Store): Drawing =>
  nothing(`No steps of ${store.state.focus} at ${rateText(store.cellRate)}.`);

export function poolChart(store: Store): Drawing {
  const times = timesOf(store, store.state.focus);
  const color = meanings();
  const states = [
    ["used", "allocated", color.allocated], ["pinned", "pinned", color.pinned],
    ["cached", "cached", color.cached], ["free", "free", color.free],
  ] as const;
  const lines = states.flatMap(([name, label, of_state]) => {
    const values = timeLine(times, name);
    const fill = name === "free" ? 0.3 : 1;
    return values ? [{ name: label, values, color: of_state, fill }] : [];
  });
  if (!times || lines.length === 0) return noSteps(store);
  const t = middles(times.end, lines[0]?.values.length ?? 0);
  const blocks = times.lines.filter((line) => line.unit === "blk");
  return {
    option: frame({
      xAxis: timeAxis(times),
      yAxis: yAxis("KV blocks"),
      tooltip: axisTip((at) => `${at} s`, (y) => `${brief(y)} blocks`),
      series: lines.map(({ name, values, color: of_state, fill }) => ({
        type: "line", name, stack: "pool", symbol: "none", color: of_state, lineStyle: { width: 0 },
        areaStyle: { opacity: fill }, data: points(t, values),
      })),
    }),
    keys: lines,
    csv: ofCell(store, [
      column("t_s", t), ...blocks.map((line) => column(`${line.name}_blk`, valuesOf(times, line))),
    ]),
    note: `KV blocks by state, ${spansText(t.length)}; extremes are in the CSV. ` +
      `${store.panel.kind}: ${cellText(store)}.`,
  };
}

export function queueChart(store: Store): Drawing {
  const lines = store.visible.flatMap((variant) => {
    const times = timesOf(store, variant);
    const mean = timeLine(times, "waiting");
    if (!times || !mean) return [];
    const [max, running] = [timeLine(times, "waiting_max"), timeLine(times, "running")];
    return [{ variant, t: middles(times.end, mean.length), mean, max, running }];
  });
  if (lines.length === 0) return nothing("No policy is shown.");
  const all = (of: (line: (typeof lines)[number], i: number) => Maybe | undefined) =>
    lines.flatMap((line) => line.t.map((_, i) => of(line, i) ?? null));
  return {
    option: frame({
      xAxis: xAxis("time [s]", { axisLabel: { formatter: brief } }),
      yAxis: yAxis("waiting requests"),
      tooltip: axisTip((at) => `${at} s`, (y) => num(y, 3)),
      series: lines.map(({ variant, t, mean }) => lineSeries(store, variant, points(t, mean))),
    }),
    keys: lineKeys(store, lines.map((line) => line.variant)),
    csv: ofCell(store, [
      column("t_s", all((line, i) => line.t[i])),
      column("waiting_mean", all((line, i) => line.mean[i])),
      column("waiting_max", all((line, i) => line.max?.[i])),
      column("running_mean", all((line, i) => line.running?.[i])),
    ], lines.flatMap((line) => line.t.map(() => line.variant))),
    note: `After admission, ${spansText(lines[0]?.t.length ?? 0)}; extremes are in the CSV. ` +
      `${store.panel.kind}, ${rateText(store.cellRate)}, repeat ${store.state.repeat + 1}.`,
  };
}

const STALL = "Stall: time in which the whole batch waited for copies";
const NO_STALL = "Stalls by step are not recorded here; those of turns are, in where the time of a job goes";

const moves = (rates: Maybe[]): boolean => rates.some((rate) => rate !== null && rate > 0);

export function trafficChart(store: Store): Drawing {
  const times = timesOf(store, store.state.focus);
  const [h2d, d2h, stall] = ["h2d", "d2h", "stall"].map((name) => timeLine(times, name));
  if (!times || !h2d || !d2h) return noSteps(store);
  if (!moves([...h2d, ...d2h])) {
    return nothing(`${store.state.focus} moved no KV between host memory and GPU here. ` +
      (dramSizes(store.panel).length > 0
        ? "Policies with a host tier do: choose one as policy in detail."
        : "No policy here has a host tier."));
  }
  const t = middles(times.end, h2d.length);
  const color = meanings();
  const stalled = "stalled [s/s], right axis";
  const shown = [
    { name: "to the GPU [GB/s]", values: h2d, color: color.to_device, at: 0 },
    { name: "to the host [GB/s]", values: d2h, color: color.to_host, at: 0 },
    ...(stall ? [{ name: stalled, values: stall, color: color.stall, at: 1 }] : []),
  ];
  const right = {
    ...yAxis("stalled [s/s]"), nameGap: 34, min: 0, max: 1, splitLine: { show: false },
  };
  return {
    option: frame({
      // The right axis begins below the toolbox.
      grid: { left: 58, right: stall ? 52 : 16, top: stall ? 46 : 30, bottom: 42 },
      xAxis: timeAxis(times),
      yAxis: stall ? [yAxis("moved [GB/s]"), right] : yAxis("moved [GB/s]"),
      tooltip: axisTip((at) => `${at} s`, (y) => num(y, 3)),
      series: shown.map(({ name, values, color: of_line, at }) => ({
        type: "line", name, symbol: "none", color: of_line, yAxisIndex: at,
        lineStyle: { width: 1.5 }, data: points(t, values),
      })),
    }),
    keys: shown.map((line) => ({ name: line.name, color: line.color, dash: "solid" })),
    csv: ofCell(store, [
      column("t_s", t), column("h2d_GB_per_s", h2d), column("d2h_GB_per_s", d2h),
      ...(stall ? [column("stall_s_per_s", stall)] : []),
    ]),
    note: `${stall ? STALL : NO_STALL}; ${spansText(t.length)}. ` +
      `${store.panel.kind}: ${cellText(store)}.`,
  };
}
