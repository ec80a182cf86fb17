import type { CsvColumn } from "@/shared/csv";
import { escapeHtml } from "@/shared/escape";
import { num, seconds } from "@/shared/format";
import { cssVar, palette } from "@/shared/theme";

import { ALL, PARTS, groupOf, poolOf, rateText, repeatsText, timeLine, type Fit, type Maybe, type Pool, type Sizes } from "./data";
import { axisTip, brief, frame, looks, nothing, xAxis, yAxis, type Drawing } from "./parts";
import type { Store } from "./state";

const FLOOR = 0.5; // below one step, where bins of a log histogram are empty

export const X_NAMES = { largest: "tokens of the largest request", total: "tokens of the step" } as const;

/** Visible variants with numbers at the chosen rate. */
function pools(store: Store): Pool[] {
  return store.visible.flatMap((variant) => poolOf(store.panel, store.state.rate, variant) ?? []);
}

/** "MODELLED (sim), 10 jobs/s, 3 repeats": what every chart says of its numbers. */
export function about(store: Store, list: { repeats: number }[]): string {
  const counts = list.map((each) => each.repeats);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const repeats = counts.length === 0 ? "no repeat" : least === most ? repeatsText(most) : `${least} to ${repeatsText(most)}`;
  return `${store.panel.kind}, ${rateText(store.state.rate)}, ${repeats}`;
}

export function fitText(fit: Fit): string {
  if (fit.slope_us === null) return `no line fits ${num(fit.n)} steps of one size`;
  return `y = ${num(fit.slope_us / 1e3, 3)}·x + ${num(fit.intercept_ms, 3)} ms, R² = ${num(fit.r2, 3)}, ${num(fit.n)} steps`;
}

const column = (name: string, values: CsvColumn["values"]): CsvColumn => ({ name, values });

/** Rows of one table from several series: a column that names the series, and the others. */
function long(names: string[], rows: (string | Maybe)[][]): CsvColumn[] {
  return names.map((name, i) => column(name, rows.map((row) => row[i] ?? null)));
}

// --- forward tokens per step -------------------------------------------------------------------------------------------

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

export function tokensChart(store: Store): Drawing {
  const list = pools(store);
  if (list.length === 0) return nothing("No policy is shown.");
  const { x } = store.state;
  const rows = list.flatMap((pool) => pool[x].histogram.map((bin) => [pool.variant, ...bin]));
  return {
    option: frame({
      xAxis: xAxis(X_NAMES[x], { type: "log", min: FLOOR, axisLabel: { formatter: (v: number) => (v < 1 ? "0" : brief(v)) } }),
      yAxis: yAxis("steps", { type: "log", min: FLOOR, axisLabel: { formatter: (v: number) => (v < 1 ? "" : brief(v)) } }),
      tooltip: axisTip((at) => `${at} tokens and more`, (y) => (y < 1 ? "0 steps" : `${num(y)} steps`)),
      series: list.map((pool) => {
        const look = looks(store.variants, pool.variant);
        return {
          type: "line", name: pool.variant, step: "end", symbol: "none", data: outline(pool[x].histogram), color: look.color,
          lineStyle: { width: 1.8, type: look.type },
        };
      }),
    }),
    csv: long(["policy", "from_tok", "below_tok", "steps"], rows),
    note: `Steps by size, in quarter octaves, both axes logarithmic. ${about(store, list)}.`,
  };
}

// --- step time over tokens ---------------------------------------------------------------------------------------------

function pointsOf(store: Store, variant: string): [number, number, number][] {
  const { rate, x } = store.state;
  const points: [number, number, number][] = [];
  for (const group of store.panel.groups) {
    if (group.variant !== variant || (rate !== ALL && group.jps !== rate)) continue;
    const flat = group[x].points ?? [];
    for (let i = 0; i + 2 < flat.length; i += 3) points.push([flat[i] ?? 0, flat[i + 1] ?? 0, flat[i + 2] ?? 0]);
  }
  return points;
}

/** The line through what is shown: all policies together where all rates are, otherwise the best known one of each. */
function shownFits(store: Store, list: Pool[]): { name: string; fit: Fit; color: string }[] {
  const { rate, x, hidden } = store.state;
  const all = store.panel.all[0];
  if (rate === ALL && hidden.size === 0 && all) return [{ name: "all policies", fit: all[x].fit, color: cssVar("--text") }];
  return list.map((pool) => ({ name: pool.variant, fit: pool[x].fit, color: looks(store.variants, pool.variant).color }));
}

export function stepTimeChart(store: Store): Drawing {
  const list = pools(store);
  if (list.length === 0) return nothing("No policy is shown.");
  const { x } = store.state;
  const series = list.map((pool) => ({ variant: pool.variant, points: pointsOf(store, pool.variant) }));
  const end = Math.max(1, ...series.flatMap((each) => each.points.map((point) => point[0])));
  const fits = shownFits(store, list);
  const lines = fits.flatMap(({ name, fit, color }) => {
    if (fit.slope_us === null || fit.intercept_ms === null) return [];
    const at = (tokens: number) => (fit.intercept_ms ?? 0) + (tokens * (fit.slope_us ?? 0)) / 1e3;
    return [{ type: "line", name: `fit, ${name}`, data: [[0, at(0)], [end, at(end)]], symbol: "none", color, silent: true,
              lineStyle: { width: 1.5, type: "dashed" }, tooltip: { show: false }, z: 5 }];
  });
  const first = fits[0];
  return {
    option: frame({
      zoom: "xy",
      xAxis: xAxis(X_NAMES[x], { max: end, axisLabel: { formatter: brief } }),
      yAxis: yAxis("step duration [ms]"),
      tooltip: {
        trigger: "item",
        formatter: (item: { seriesName?: string; value?: unknown }) => {
          const [tokens, ms, steps] = item.value as [number, number, number];
          return `${escapeHtml(item.seriesName ?? "")}<br>${num(tokens)} tokens, <b>${num(ms)} ms</b><br>stands for ${num(steps)} step${steps === 1 ? "" : "s"}`;
        },
      },
      series: [
        ...series.map(({ variant, points }) => ({
          type: "scatter", name: variant, data: points, color: looks(store.variants, variant).color,
          symbolSize: (value: number[]) => 3 + Math.min(9, Math.log10(value[2] ?? 1) * 2.2), itemStyle: { opacity: 0.5 },
        })),
        ...lines,
      ],
    }),
    csv: long(["policy", "tokens", "step_ms", "steps"], series.flatMap(({ variant, points }) => points.map((point) => [variant, ...point]))),
    note: `${fits.length === 1 && first ? `${first.name}: ${fitText(first.fit)}` : "Dashed: least squares of each policy (table below)"}. ` +
      `Fitted over all steps; drawn is one step of each twelfth of an octave in both directions, larger where it stands for more. ${about(store, list)}.`,
  };
}

// --- turns and jobs ----------------------------------------------------------------------------------------------------

export function turnsChart(store: Store): Drawing {
  const list = pools(store);
  if (list.length === 0) return nothing("No policy is shown.");
  return {
    option: frame({
      xAxis: xAxis("turn", { min: 1, minInterval: 1 }),
      yAxis: yAxis("mean turn duration [s]"),
      tooltip: axisTip((at) => `turn ${at}`, seconds),
      series: list.map((pool) => lineSeries(store, pool.variant, pool.turns.map((turn, i) => [i + 1, turn[1]]), true)),
    }),
    csv: long(
      ["policy", "turn", "turns", "mean_s", "p95_s"],
      list.flatMap((pool) => pool.turns.map((turn, i) => [pool.variant, i + 1, turn[0], turn[1], turn[2]])),
    ),
    note: `From arrival to last token, time in queue included. ${about(store, list)}.`,
  };
}

export function lineSeries(store: Store, variant: string, data: [number, Maybe][], symbols = false): object {
  const look = looks(store.variants, variant);
  return {
    type: "line", name: variant, data, color: look.color, lineStyle: { width: 1.8, type: look.type },
    symbol: symbols ? "circle" : "none", symbolSize: 5, connectNulls: false,
  };
}

export function jctChart(store: Store): Drawing {
  const list = pools(store).filter((pool) => pool.jct.length > 0);
  if (list.length === 0) return nothing("No finished job of a policy that is shown.");
  return {
    option: frame({
      xAxis: xAxis("job completion time [s]", { type: "log", axisLabel: { formatter: brief }, min: "dataMin", max: "dataMax" }),
      yAxis: yAxis("jobs that took no longer [%]", { max: 100 }),
      tooltip: axisTip((at) => `${at} s`, (y) => `${num(y)} %`),
      series: list.map((pool) => lineSeries(store, pool.variant, pool.jct.map((s, percent) => [s ?? NaN, percent]))),
    }),
    csv: long(["policy", "percentile", "jct_s"], list.flatMap((pool) => pool.jct.map((s, percent) => [pool.variant, percent, s]))),
    note: `First arrival to last token; the number of jobs is ${list.map((pool) => num(pool.jobs)).filter((v, i, all) => all.indexOf(v) === i).join(" or ")} a policy. ${about(store, list)}.`,
  };
}

export function jctOverRateChart(store: Store): Drawing {
  const { panel, visible } = store;
  const rows = visible.flatMap((variant) =>
    panel.rates.flatMap((rate) => {
      const figure = groupOf(panel, rate, variant)?.figures["jct_wall_mean_s"];
      const group = groupOf(panel, rate, variant);
      return figure && group ? [{ variant, rate, figure, repeats: group.repeats }] : [];
    }),
  );
  if (rows.length === 0) return nothing("No policy is shown.");
  const has_published = rows.some(({ figure }) => figure.published !== null);
  const series = visible.flatMap((variant) => {
    const own = rows.filter((row) => row.variant === variant);
    const look = looks(store.variants, variant);
    const line = { type: "line", name: variant, color: look.color, symbolSize: 6, lineStyle: { width: 1.8, type: look.type },
                   data: own.map(({ rate, figure }) => [rate, figure.mean]) };
    const published = { type: "scatter", name: `${variant}, published`, symbol: "diamond", symbolSize: 11, color: look.color,
                        itemStyle: { color: "transparent", borderColor: look.color, borderWidth: 1.6 },
                        data: own.flatMap(({ rate, figure }) => (figure.published === null ? [] : [[rate, figure.published]])) };
    return [line, ...(published.data.length > 0 ? [published] : []), ...bars(own, look.color)];
  });
  return {
    option: frame({
      xAxis: { ...xAxis("jobs per second"), type: "category", data: panel.rates, boundaryGap: true },
      yAxis: yAxis("mean job completion time [s]", { type: "log", min: (v: { min: number }) => niceBelow(v.min) }),
      tooltip: axisTip((at) => `${at} jobs/s`, seconds),
      series,
    }),
    csv: long(
      ["policy", "jps", "mean_s", "low95_s", "high95_s", "repeats", "published_s"],
      rows.map(({ variant, rate, figure, repeats }) => [variant, rate, figure.mean, figure.interval?.[0] ?? null, figure.interval?.[1] ?? null, repeats, figure.published]),
    ),
    note: `${has_published ? "Diamonds: published values. " : ""}Bars: 95 % over repeats, where there are several. ${panel.kind}, ${about(store, rows).split(", ").pop()}.`,
  };
}

const niceBelow = (value: number): number => 10 ** Math.floor(Math.log10(Math.max(value, 1e-6)));

/** Intervals over repeats as thin vertical lines. */
function bars(rows: { rate: string; figure: { interval: [number, number] | null } }[], color: string): object[] {
  return rows.flatMap(({ rate, figure }) =>
    figure.interval === null
      ? []
      : [{ type: "line", data: figure.interval.map((y) => [rate, y]), symbol: "rect", symbolSize: [8, 1.5], color, silent: true,
           lineStyle: { width: 1.2 }, tooltip: { show: false }, z: 4 }],
  );
}

// --- one cell over time ------------------------------------------------------------------------------------------------

const middles = (end: Maybe, count: number): number[] => Array.from({ length: count }, (_, i) => ((i + 0.5) * (end ?? 0)) / count);

/** The cell that charts over time show, as a text. */
function cellText(store: Store): string {
  const group = groupOf(store.panel, store.cellRate, store.state.focus);
  const cell = group?.cells[store.state.repeat] ?? group?.cells[0];
  return `${store.state.focus} at ${rateText(store.cellRate)}${cell ? `, seed ${cell.seed}` : ""} (repeat ${store.state.repeat + 1} of ${group?.repeats ?? 0})`;
}

const timesOf = (store: Store, variant: string) => {
  const group = groupOf(store.panel, store.cellRate, variant);
  return group?.times[store.state.repeat] ?? group?.times[0];
};

const spansText = (count: number): string => `${count} equal spans of time`;

export function poolChart(store: Store): Drawing {
  const times = timesOf(store, store.state.focus);
  const states = [["used", "allocated"], ["pinned", "pinned"], ["cached", "cached"], ["free", "free"]] as const;
  const colors = [palette()[0], palette()[1], palette()[2], cssVar("--line")];
  const lines = states.flatMap(([name, label], i) => {
    const values = timeLine(times, name);
    return values ? [{ label, values, color: colors[i] }] : [];
  });
  if (!times || lines.length === 0) return nothing(`No steps of ${store.state.focus} at ${rateText(store.cellRate)}.`);
  const t = middles(times.end, lines[0]?.values.length ?? 0);
  return {
    option: frame({
      legend: { bottom: 0, left: "center", itemHeight: 8, itemWidth: 14 },
      grid: { left: 58, right: 14, top: 26, bottom: 62 },
      xAxis: xAxis("time [s]", { max: times.end }),
      yAxis: yAxis("KV blocks"),
      tooltip: axisTip((at) => `${at} s`, (y) => `${brief(y)} blocks`),
      series: lines.map(({ label, values, color }) => ({
        type: "line", name: label, stack: "pool", symbol: "none", color, lineStyle: { width: 0.6 }, areaStyle: { opacity: 0.75 },
        data: values.map((value, i) => [t[i], value]),
      })),
    }),
    csv: [column("t_s", t), ...(times.lines.filter((line) => line.unit === "blk").map((line) => column(`${line.name}_blk`, line.values)))],
    note: `Means over ${spansText(t.length)}; extremes are in the CSV. ${store.panel.kind}: ${cellText(store)}.`,
  };
}

export function queueChart(store: Store): Drawing {
  const lines = store.visible.flatMap((variant) => {
    const times = timesOf(store, variant);
    const mean = timeLine(times, "waiting"), max = timeLine(times, "waiting_max"), running = timeLine(times, "running");
    return times && mean ? [{ variant, t: middles(times.end, mean.length), mean, max, running }] : [];
  });
  if (lines.length === 0) return nothing("No policy is shown.");
  return {
    option: frame({
      xAxis: xAxis("time [s]", { axisLabel: { formatter: brief } }),
      yAxis: yAxis("waiting requests"),
      tooltip: axisTip((at) => `${at} s`, (y) => num(y, 3)),
      series: lines.map(({ variant, t, mean }) => lineSeries(store, variant, mean.map((value, i) => [t[i] ?? 0, value]))),
    }),
    csv: long(
      ["policy", "t_s", "waiting_mean", "waiting_max", "running_mean"],
      lines.flatMap(({ variant, t, mean, max, running }) => t.map((at, i) => [variant, at, mean[i] ?? null, max?.[i] ?? null, running?.[i] ?? null])),
    ),
    note: `After admission; means over ${spansText(lines[0]?.t.length ?? 0)}, extremes in the CSV. ${store.panel.kind}, ${rateText(store.cellRate)}, repeat ${store.state.repeat + 1}.`,
  };
}

export function hitsChart(store: Store): Drawing {
  const pool = poolOf(store.panel, store.state.rate, store.state.focus);
  if (!pool || pool.turns.length === 0) return nothing(`No turns of ${store.state.focus} at this rate.`);
  const [gpu, host, again, fresh] = [palette()[2], palette()[5], palette()[1], palette()[7]];
  const tiers = [["found in VRAM", 3, gpu], ["found in DRAM", 4, host], ["computed again", 5, again], ["computed, new", 6, fresh]] as const;
  return {
    option: frame({
      legend: { bottom: 0, left: "center", itemHeight: 8, itemWidth: 12, itemGap: 8 },
      grid: { left: 58, right: 14, top: 26, bottom: 78 },
      xAxis: { ...xAxis("turn"), type: "category", data: pool.turns.map((_, i) => String(i + 1)) },
      yAxis: yAxis("mean prompt tokens"),
      tooltip: axisTip((at) => `turn ${at}`, (y) => `${num(y)} tokens`),
      series: tiers.map(([name, at, color]) => ({ type: "bar", stack: "tier", name, color, barCategoryGap: "15%", data: pool.turns.map((turn) => turn[at]) })),
    }),
    csv: [
      column("turn", pool.turns.map((_, i) => i + 1)),
      column("turns", pool.turns.map((turn) => turn[0])),
      ...tiers.map(([name, at]) => column(`${name} [tok]`, pool.turns.map((turn) => turn[at]))),
    ],
    note: `${pool.variant}: where a turn's prompt came from. ${about(store, [pool])}.`,
  };
}

export function trafficChart(store: Store): Drawing {
  const times = timesOf(store, store.state.focus);
  const h2d = timeLine(times, "h2d"), d2h = timeLine(times, "d2h"), stall = timeLine(times, "stall");
  if (!times || !h2d || !d2h) return nothing(`No steps of ${store.state.focus} at ${rateText(store.cellRate)}.`);
  if (![...h2d, ...d2h].some((rate) => rate !== null && rate > 0)) {
    return nothing(`${store.state.focus} moved no KV between host and device here. Policies with a host tier do: choose one above.`);
  }
  const t = middles(times.end, h2d.length);
  const line = (name: string, values: Maybe[], color: string | undefined, yAxisIndex: number) => ({
    type: "line", name, symbol: "none", color, yAxisIndex, lineStyle: { width: 1.5 }, data: values.map((value, i) => [t[i], value]),
  });
  return {
    option: frame({
      legend: { bottom: 0, left: "center", itemHeight: 8, itemWidth: 14 },
      grid: { left: 58, right: 52, top: 26, bottom: 62 },
      xAxis: xAxis("time [s]", { max: times.end }),
      yAxis: [yAxis("moved [GB/s]"), { ...yAxis("stalled [s/s]"), nameGap: 34, min: 0, max: 1, splitLine: { show: false } }],
      tooltip: axisTip((at) => `${at} s`, (y) => num(y, 3)),
      series: [line("to the device", h2d, palette()[0], 0), line("to the host", d2h, palette()[3], 0), ...(stall ? [line("stall", stall, palette()[1], 1)] : [])],
    }),
    csv: [column("t_s", t), column("h2d_GB_per_s", h2d), column("d2h_GB_per_s", d2h), ...(stall ? [column("stall_s_per_s", stall)] : [])],
    note: `${stall ? "Stall: time in which everybody waited for copies. " : "This archive does not record stalls by step. "}Means over ${spansText(t.length)}. ${store.panel.kind}: ${cellText(store)}.`,
  };
}

// --- why a policy wins -------------------------------------------------------------------------------------------------

export function partsChart(store: Store): Drawing {
  const list = pools(store).filter((pool) => pool.parts.some((part) => part !== null));
  if (list.length === 0) return nothing("No finished job of a policy that is shown.");
  const p = palette();
  const colors = [p[1], p[3], p[4], p[0], p[2], cssVar("--line"), p[7]];
  const matters = PARTS.map((_, i) => i).filter((i) => list.some((pool) => (pool.parts[i] ?? 0) > 1e-3));
  return {
    option: {
      grid: { left: 8, right: 24, top: 8, bottom: 62, containLabel: true },
      legend: { bottom: 0, left: "center", itemHeight: 9, itemWidth: 14, itemGap: 10 },
      xAxis: { ...xAxis("mean seconds of a job") },
      yAxis: { type: "category", inverse: true, data: list.map((pool) => pool.variant), axisLabel: { width: 130, overflow: "truncate" } },
      tooltip: {
        trigger: "axis", axisPointer: { type: "shadow" },
        formatter: (items: { seriesName?: string; marker?: string; value?: unknown; name?: string }[]) =>
          [escapeHtml(items[0]?.name ?? ""), ...items.map((item) => `${item.marker ?? ""} ${escapeHtml(item.seriesName ?? "")} <b>${seconds(item.value as number)}</b>`)].join("<br>"),
      },
      series: matters.map((i) => ({
        type: "bar", stack: "jct", name: PARTS[i], color: colors[i], barMaxWidth: 26, data: list.map((pool) => pool.parts[i] ?? 0),
      })),
    },
    csv: [column("policy", list.map((pool) => pool.variant)), ...PARTS.map((part, i) => column(`${part} [s]`, list.map((pool) => pool.parts[i] ?? null))),
          column("repeats", list.map((pool) => pool.repeats))],
    note: `Mean job completion time by what it was spent on. Gap: a tool runs. ${about(store, list)}.`,
  };
}
