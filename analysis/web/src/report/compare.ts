// Charts that put cards side by side: latency by turn on two cards with two sizes of host memory, and one gap of one job.
import { escapeHtml } from "@/shared/escape";
import { num, seconds } from "@/shared/format";
import { cssVar, palette } from "@/shared/theme";

import { groupOf, panelName, rateText, repeatsText, type Gap, type Maybe, type Panel, type Story } from "./data";
import { axisTip, frame, nothing, xAxis, yAxis, type Drawing } from "./parts";
import { lineSeries } from "./charts";
import type { Store } from "./state";

/** Sizes of host memory that a panel has, smallest first. */
export function dramSizes(panel: Panel): string[] {
  const sizes = [...new Set(panel.groups.map((group) => group.dram))].filter((dram) => dram !== "-");
  return sizes.sort((a, b) => Number(a) - Number(b));
}

/** Policies that need no host memory, and those with this much. */
export function withDram(panel: Panel, jps: string, dram: string, variants: string[]): string[] {
  return variants.filter((variant) => {
    const group = groupOf(panel, jps, variant);
    return group !== undefined && (group.dram === "-" || group.dram === dram);
  });
}

export function turnLatencyChart(store: Store, panel: Panel, jps: string, dram: string, turns: number, top: Maybe): Drawing {
  const shown = withDram(panel, jps, dram, panel.variants.filter((variant) => !store.state.hidden.has(variant)));
  const groups = shown.flatMap((variant) => groupOf(panel, jps, variant) ?? []);
  if (groups.length === 0) return nothing(`No results on ${panelName(panel)} at ${rateText(jps)}.`);
  const latency = (turn: (typeof groups)[number]["turns"][number] | undefined) => turn?.[1] ?? null;
  return {
    option: frame({
      xAxis: { ...xAxis("turn"), type: "category", data: Array.from({ length: turns }, (_, i) => `T${i + 1}`) },
      yAxis: yAxis("mean latency [s]", top === null ? {} : { max: top }),
      tooltip: axisTip((at) => at, seconds),
      series: groups.map((group) => ({
        ...lineSeries(store, group.variant, [], true), data: group.turns.slice(0, turns).map((turn) => latency(turn)),
      })),
    }),
    csv: [
      { name: "policy", values: groups.flatMap((group) => group.turns.slice(0, turns).map(() => group.variant)) },
      { name: "turn", values: groups.flatMap((group) => group.turns.slice(0, turns).map((_, i) => i + 1)) },
      { name: "mean_s", values: groups.flatMap((group) => group.turns.slice(0, turns).map(latency)) },
      { name: "repeats", values: groups.flatMap((group) => group.turns.slice(0, turns).map(() => group.repeats)) },
    ],
    note: `${panel.kind}, ${dram === "-" ? "no host memory" : `${dram} GiB of host memory`}, ${rateText(jps)}, ${repeatsText(Math.max(...groups.map((group) => group.repeats)))}.`,
  };
}

/** The largest latency, so that charts side by side share an axis. */
export function highestTurn(panels: { panel: Panel; dram: string }[], jps: string, turns: number, hidden: Set<string>): Maybe {
  const all = panels.flatMap(({ panel, dram }) =>
    withDram(panel, jps, dram, panel.variants.filter((variant) => !hidden.has(variant))).flatMap(
      (variant) => groupOf(panel, jps, variant)?.turns.slice(0, turns).map((turn) => turn[1] ?? 0) ?? [],
    ),
  );
  if (all.length === 0) return null;
  const most = Math.max(...all), step = 10 ** Math.floor(Math.log10(Math.max(most, 1e-3))) / 2;
  return Math.ceil(most / step) * step;
}

const ROW = 74, TOP = 8;

export const gapHeight = (gap: Gap | undefined, hidden: Set<string>): number =>
  gap ? TOP + gap.stories.filter((story) => !hidden.has(story.variant)).length * ROW + 70 : 160;

/** Time since the turn ended, so that the same gap lines up under every policy. */
const since = (story: Story, at: number): number => at - story.finish;

function stepLine(story: Story, line: [number, number][], until: number): [number, number][] {
  const points = line.map(([at, tokens]): [number, number] => [since(story, at), tokens]);
  const last = points[points.length - 1];
  if (last) points.push([until, last[1]]);
  return points;
}

const endOf = (story: Story): number => since(story, story.end ?? story.first ?? story.admit ?? story.return);

function spans(story: Story): { name: string; from: number; to: number; color: string }[] {
  const p = palette();
  const end = (at: Maybe, otherwise: number) => (at === null ? otherwise : since(story, at));
  const back = since(story, story.return), admit = end(story.admit, back), first = end(story.first, admit);
  return [
    { name: "tool", from: 0, to: back, color: cssVar("--line") },
    { name: "queue", from: back, to: admit, color: p[1] ?? "" },
    { name: "load and prefill", from: admit, to: first, color: p[0] ?? "" },
    { name: "decode", from: first, to: end(story.end, first), color: p[2] ?? "" },
  ].filter((span) => span.to > span.from);
}

export function gapChart(store: Store): Drawing {
  const gap = store.panel.gaps.find((each) => each.jps === store.cellRate);
  const stories = gap?.stories.filter((story) => !store.state.hidden.has(story.variant)) ?? [];
  if (!gap || stories.length === 0) return nothing("No job of this cell has two turns.");
  const until = Math.ceil(Math.max(...stories.map(endOf)) * 10) / 10;
  const most = Math.max(...stories.map((story) => story.context));
  const gpu = palette()[2] ?? "", host = palette()[5] ?? "";
  const option = {
    title: stories.map((story, i) => ({
      text: story.variant, left: 0, top: TOP + i * ROW + 12, padding: 0, textStyle: { fontSize: 11, lineHeight: 14, fontWeight: "normal", color: cssVar("--text"), width: 108, overflow: "break" },
    })),
    grid: stories.map((_, i) => ({ left: 142, right: 16, top: TOP + i * ROW, height: ROW - 22, outerBoundsMode: "none" })),
    xAxis: stories.map((_, i) => ({
      ...xAxis(i + 1 === stories.length ? "seconds since the turn ended" : ""), gridIndex: i, min: 0, max: until, axisLabel: { show: i + 1 === stories.length },
      splitLine: { show: false },
    })),
    yAxis: stories.map((_, i) => ({
      type: "value", gridIndex: i, min: 0, max: most, interval: most, axisLabel: { formatter: (v: number) => (v >= 1000 ? `${num(v / 1000, 2)}k` : num(v)), showMinLabel: false }, splitLine: { show: false },
    })),
    dataZoom: [{ type: "inside", xAxisIndex: stories.map((_, i) => i), zoomOnMouseWheel: "ctrl", filterMode: "none" }],
    legend: { bottom: 0, left: "center", itemHeight: 9, itemWidth: 14, itemGap: 8, data: ["KV in VRAM", "KV in DRAM", "tool", "queue", "load and prefill", "decode", "pinned"] },
    tooltip: {
      trigger: "axis",
      formatter: (items: { axisIndex?: number; value?: unknown; axisValue?: number }[] | { axisIndex?: number }) => {
        const story = stories[(Array.isArray(items) ? items[0] : items)?.axisIndex ?? 0];
        return story ? tipOf(story) : "";
      },
    },
    series: [
      ...stories.flatMap((story, i) => [
        { type: "line", step: "end", name: "KV in DRAM", xAxisIndex: i, yAxisIndex: i, symbol: "none", color: host, lineStyle: { width: 1, type: "dashed" },
          areaStyle: { opacity: 0.25 }, data: stepLine(story, story.host, endOf(story)) },
        { type: "line", step: "end", name: "KV in VRAM", xAxisIndex: i, yAxisIndex: i, symbol: "none", color: gpu, lineStyle: { width: 1.6 },
          areaStyle: { opacity: 0.35 }, data: stepLine(story, story.gpu, endOf(story)) },
        ...bands(story, i, most),
      ]),
    ],
  };
  return {
    option,
    csv: [
      { name: "policy", values: stories.flatMap((story) => [...story.gpu, ...story.host].map(() => story.variant)) },
      { name: "memory", values: stories.flatMap((story) => [...story.gpu.map(() => "VRAM"), ...story.host.map(() => "DRAM")]) },
      { name: "since_s", values: stories.flatMap((story) => [...story.gpu, ...story.host].map(([at]) => since(story, at))) },
      { name: "tokens", values: stories.flatMap((story) => [...story.gpu, ...story.host].map(([, tokens]) => tokens)) },
    ],
    note: `KV of job ${gap.job} between its turns ${gap.turn + 1} and ${gap.turn + 2} at ${rateText(store.cellRate)}, in tokens, from the recorded events; ` +
      `what the next turn found is recorded too. ${store.panel.kind}, the first repeat.`,
  };
}

/** A bar along the axis for each stage, and one on top for the time that KV was pinned. */
function bands(story: Story, at: number, most: number): object[] {
  const band = (name: string, from: number, to: number, color: string, low: number, high: number) => ({
    type: "line", name, xAxisIndex: at, yAxisIndex: at, symbol: "none", color, lineStyle: { width: 0 }, data: [], silent: true,
    markArea: { silent: true, itemStyle: { color, opacity: 1 }, data: [[{ coord: [from, low] }, { coord: [to, high] }]] },
  });
  return [
    ...spans(story).map((span) => band(span.name, span.from, span.to, span.color, 0, most * 0.12)),
    ...story.pinned.map(([from, to]) => band("pinned", since(story, from), since(story, to), palette()[3] ?? "", most * 0.93, most)),
  ];
}

function tipOf(story: Story): string {
  const row = (name: string, text: string) => `${name} <b>${escapeHtml(text)}</b>`;
  return [
    `<b>${escapeHtml(story.variant)}</b>`,
    row("left behind", `${num(story.context)} tokens`),
    row("found in VRAM", `${num(story.found_gpu)} tokens`),
    row("found in DRAM", `${num(story.found_host)} tokens`),
    row("computed", `${num(story.computed)} tokens`),
    row("tool took", seconds(story.return - story.finish)),
    row("in queue", seconds(story.admit === null ? null : story.admit - story.return)),
    row("first token after", seconds(story.first === null ? null : story.first - story.return)),
    row("waited for loads", seconds(story.load_stall)),
    row("computing again", seconds(story.recompute)),
  ].join("<br>");
}
