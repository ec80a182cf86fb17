// Charts of turns and jobs: their durations and the parts of them.
import type { CsvColumn } from "@/shared/csv";
import { num, seconds } from "@/shared/format";
import { escapeHtml } from "@/shared/escape";

import {
  PARTS, groupOf, poolOf, rateText, repeatsOf, type Figure, type Maybe, type Pool, type Turn,
} from "./data";
import {
  LOG, axisTip, brief, column, frame, looks, meanings, nothing, sourced, table, tipLine, xAxis,
  yAxis,
  type Drawing, type Key,
} from "./parts";
import { about, asPublished, lineKeys, lineSeries, long, poolsOf, type Row } from "./pools";
import type { Store } from "./state";

/** Mean durations of turns, or their cumulative sums. */
export function durations(turns: Turn[], add_up: boolean): Maybe[] {
  let sum = 0;
  return turns.map(([, mean]) => {
    sum += mean ?? 0;
    return add_up && mean !== null ? sum : mean;
  });
}

export function turnsChart(store: Store): Drawing {
  const list = poolsOf(store);
  if (list.length === 0) return nothing("No policy is shown.");
  const add_up = store.state.turns === "sum";
  const rows = list.flatMap((pool) => {
    const sums = durations(pool.turns, true);
    return pool.turns.map(([count, mean, p95], i): Row => (
      { of: pool, values: [i + 1, count, mean, p95, sums[i] ?? null] }));
  });
  return {
    option: frame({
      xAxis: xAxis("turn", { min: 1, minInterval: 1 }),
      yAxis: yAxis(add_up ? "duration of the turns so far [s]" : "mean turn duration [s]"),
      tooltip: axisTip((at) => `turn ${at}`, seconds),
      series: list.map((pool) => {
        const points = durations(pool.turns, add_up).map((mean, i) => [i + 1, mean]);
        return lineSeries(store, pool.variant, points, true);
      }),
    }),
    keys: lineKeys(store, list.map((pool) => pool.variant)),
    csv: long(store, ["turn", "turns", "mean_s", "p95_s", "sum_of_means_s"], rows),
    note: "From arrival to last token, time in queue included" +
      `${add_up ? "; means of the turns, added up" : ""}. ` +
      `${about(store, list)}.${asPublished(store, "c", " when it says so far")}`,
  };
}

export function jctChart(store: Store): Drawing {
  const list = poolsOf(store).filter((pool) => pool.jct.length > 0);
  if (list.length === 0) return nothing("No finished job of a policy that is shown.");
  const counts = [...new Set(list.map((pool) => num(pool.jobs)))].join(" or ");
  const rows = list.flatMap((pool) =>
    pool.jct.map((s, percent): Row => ({ of: pool, values: [percent, s] })),
  );
  return {
    option: frame({
      xAxis: xAxis("job completion time [s]", { axisLabel: { formatter: brief } }),
      yAxis: yAxis("jobs that took no longer [%]", { max: 100 }),
      tooltip: axisTip((at) => `${at} s`, (y) => `${num(y)} %`),
      series: list.map((pool) =>
        lineSeries(store, pool.variant, pool.jct.map((s, percent) => [s ?? NaN, percent])),
      ),
    }),
    keys: lineKeys(store, list.map((pool) => pool.variant)),
    csv: long(store, ["percentile", "jct_s"], rows),
    note: `First arrival to last token; ${counts} jobs a policy. ${about(store, list)}.`,
  };
}

// --- job completion time over arrival rate -------------------------------------------------------

interface RatePoint {
  variant: string;
  repeats: number;
  rate: string;
  figure: Figure;
}

function ratePoints(store: Store): RatePoint[] {
  const { panel, visible } = store;
  return visible.flatMap((variant) =>
    panel.rates.flatMap((rate) => {
      const group = groupOf(panel, rate, variant);
      const figure = group?.figures["jct_wall_mean_s"];
      return group && figure ? [{ variant, rate, figure, repeats: group.repeats }] : [];
    }),
  );
}

/** Intervals over repeats as thin vertical lines. */
function bars(rows: RatePoint[], color: string): object[] {
  return rows.flatMap(({ rate, figure }) => {
    if (figure.interval === null) return [];
    return [{
      type: "line", data: figure.interval.map((y) => [rateText(rate), y]), symbol: "rect",
      symbolSize: [8, 1.5], color, silent: true, lineStyle: { width: 1.2 },
      tooltip: { show: false }, z: 4,
    }];
  });
}

function rateSeries(store: Store, variant: string, own: RatePoint[]): object[] {
  const { color } = looks(store.variants, variant);
  const means = own.map(({ rate, figure }) => [rateText(rate), figure.mean]);
  const published = own.flatMap(({ rate, figure }) =>
    figure.published === null ? [] : [[rateText(rate), figure.published]],
  );
  return [
    lineSeries(store, variant, means, true),
    {
      type: "scatter", name: `${variant}, published`, symbol: "diamond", symbolSize: 11, color,
      itemStyle: { color: "transparent", borderColor: color, borderWidth: 1.6 }, data: published,
    },
    ...bars(own, color),
  ];
}

/** The next larger of 1, 2 and 5 times a power of ten. */
export function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-6)));
  return power * ([1, 2, 5, 10].find((each) => each * power >= value) ?? 10);
}

/** The next smaller of 1, 2 and 5 times a power of ten. */
export function niceBelow(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-6)));
  const step = [5, 2, 1].find((each) => each * power <= value) ?? 1;
  return step * power;
}

export function jctOverRateChart(store: Store): Drawing {
  const rows = ratePoints(store);
  if (rows.length === 0) return nothing("No policy is shown.");
  const variants = [...new Set(rows.map((row) => row.variant))];
  const has_published = rows.some(({ figure }) => figure.published !== null);
  const keys: Key[] = lineKeys(store, variants);
  if (has_published) keys.push({ name: "published value", color: "currentColor", mark: true });
  return {
    option: frame({
      xAxis: { ...xAxis("arrival rate"), type: "category", data: store.panel.rates.map(rateText) },
      yAxis: yAxis("mean job completion time [s]", {
        ...LOG, min: (v: { min: number }) => niceBelow(v.min), max: (v: { max: number }) => niceAbove(v.max),
      }),
      tooltip: axisTip((at) => at, seconds),
      series: variants.flatMap((variant) =>
        rateSeries(store, variant, rows.filter((row) => row.variant === variant)),
      ),
    }),
    keys,
    csv: long(store, ["mean_s", "low95_s", "high95_s", "published_s"], rows.map((row): Row => {
      const { mean, interval, published } = row.figure;
      return { of: row, values: [mean, interval?.[0] ?? null, interval?.[1] ?? null, published] };
    }), rows.map((row) => row.rate)),
    note: "Bars: 95 % over repeats, where there are several. " +
      `${store.panel.kind}, ${repeatsOf(rows)}.`,
  };
}

// --- sources of prompt tokens, and parts of the time ---------------------------------------------

export function hitsChart(store: Store): Drawing {
  const pool = poolOf(store.panel, store.state.rate, store.state.focus);
  if (!pool || pool.turns.length === 0) {
    return nothing(`No turns of ${store.state.focus} at this rate.`);
  }
  const { vram, dram, again, fresh } = meanings();
  const tiers = [
    ["hits on the GPU", 3, vram], ["hits in host memory", 4, dram], ["recomputed", 5, again],
    ["computed, new", 6, fresh],
  ] as const;
  const turns = pool.turns.map((_, i) => String(i + 1));
  const columns = [
    column("policy", turns.map(() => pool.variant)),
    column("turn", turns),
    column("turns", pool.turns.map((turn) => turn[0])),
    ...tiers.map(([name, at]) => column(`${name} [tok]`, pool.turns.map((turn) => turn[at]))),
  ];
  return {
    option: frame({
      xAxis: { ...xAxis("turn"), type: "category", data: turns },
      yAxis: yAxis("mean prompt tokens"),
      tooltip: axisTip((at) => `turn ${at}`, (y) => `${num(y)} tokens`),
      series: tiers.map(([name, at, color]) => ({
        type: "bar", stack: "tier", name, color, barCategoryGap: "15%",
        data: pool.turns.map((turn) => turn[at]),
      })),
    }),
    keys: tiers.map(([name, , color]) => ({ name, color })),
    csv: sourced(store.panel, columns, () => store.state.rate, () => pool.repeats),
    note: `${pool.variant}: where a turn's prompt came from. ${about(store, [pool])}.`,
  };
}

interface BarItem {
  seriesName?: string;
  marker?: string;
  value?: unknown;
  name?: string;
}

const partsTip = (items: BarItem[]): string =>
  [
    escapeHtml(items[0]?.name ?? ""),
    ...items.map((item) =>
      tipLine(item.marker ?? "", item.seriesName ?? "", seconds(item.value as number)),
    ),
  ].join("<br>");

function partsCsv(store: Store, list: Pool[]): CsvColumn[] {
  const columns = table(list, {
    policy: (pool) => pool.variant,
    ...Object.fromEntries(PARTS.map((part, i) => [
      `${part} [s]`, (pool: Pool) => pool.parts[i] ?? null,
    ])),
  });
  return sourced(store.panel, columns, () => store.state.rate, (i) => list[i]?.repeats ?? 0);
}

export function partsChart(store: Store): Drawing {
  const list = poolsOf(store).filter((pool) => pool.parts.some((part) => part !== null));
  if (list.length === 0) return nothing("No finished job of a policy that is shown.");
  const color = meanings();
  const colors = [
    color.queue, color.load, color.again, color.prefill, color.decode, color.tool, color.other,
  ];
  const part = (pool: Pool, i: number) => pool.parts[i] ?? 0;
  const matters = PARTS.map((_, i) => i).filter((i) => list.some((pool) => part(pool, i) > 1e-3));
  return {
    option: {
      grid: { left: 8, right: 24, top: 8, bottom: 30, containLabel: true },
      xAxis: xAxis("mean time of a job [s]", {
        axisLabel: { formatter: brief, hideOverlap: true },
      }),
      yAxis: { type: "category", inverse: true, data: list.map((pool) => pool.variant) },
      tooltip: { trigger: "axis", axisPointer: { type: "shadow" }, formatter: partsTip },
      series: matters.map((i) => ({
        type: "bar", stack: "jct", name: PARTS[i], color: colors[i], barMaxWidth: 26,
        data: list.map((pool) => part(pool, i)),
      })),
    },
    keys: matters.map((i) => ({ name: PARTS[i] ?? "", color: colors[i] ?? "" })),
    csv: partsCsv(store, list),
    note: "Mean job completion time by what it was spent on. Gap: a tool runs. " +
      `${about(store, list)}.`,
  };
}
