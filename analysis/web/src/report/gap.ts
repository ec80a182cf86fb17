// One gap of one job under every policy: where its KV is while its tool runs.
import type { CsvColumn } from "@/shared/csv";
import { escapeHtml } from "@/shared/escape";
import { num, seconds } from "@/shared/format";
import { cssVar } from "@/shared/theme";

import { rateText, type Gap, type Maybe, type Story } from "./data";
import {
  brief, column, meanings, nothing, sourced, table, xAxis, type Drawing, type Key,
} from "./parts";
import type { Store } from "./state";

const TOP = 26; // of a row: the name of the policy
const ROW = 98;
const BOTTOM = 46;
const FILL = 0.35;
// Stages have a strip below the KV, and pins one above it, in shares of the KV's
// height.
const STAGES = [-0.3, -0.06] as const;
const PINS = [1.06, 1.2] as const;

const chosen = (store: Store): Gap | undefined =>
  store.panel.gaps.find((each) => each.jps === store.cellRate);

const shownStories = (store: Store): Story[] =>
  chosen(store)?.stories.filter((story) => !store.state.hidden.has(story.variant)) ?? [];

export function gapHeight(store: Store): number {
  const count = shownStories(store).length;
  return count === 0 ? 160 : count * ROW + BOTTOM;
}

/** Time since the turn ended, so that the same gap lines up under every policy. */
const since = (story: Story, at: number): number => at - story.finish;

const endOf = (story: Story): number =>
  since(story, story.end ?? story.first ?? story.admit ?? story.return);

export interface Span {
  what: string;
  from: number;
  to: number;
}

/**
 * What the job does from the end of a turn to the end of the next one, and for how long it was
 * pinned.
 */
export function spansOf(story: Story): Span[] {
  const end = (at: Maybe, otherwise: number) => (at === null ? otherwise : since(story, at));
  const back = since(story, story.return);
  const admit = end(story.admit, back);
  const first = end(story.first, admit);
  const stages = [
    { what: "tool", from: 0, to: back },
    { what: "queue", from: back, to: admit },
    { what: "load and prefill", from: admit, to: first },
    { what: "decode", from: first, to: end(story.end, first) },
  ];
  const pins = story.pinned.map(([from, to]) => (
    { what: "pinned", from: since(story, from), to: since(story, to) }));
  return [...stages, ...pins].filter((span) => span.to > span.from);
}

function colors(): Record<string, string> {
  const { tool, queue, prefill, decode, pinned } = meanings();
  return { tool, queue, "load and prefill": prefill, decode, pinned };
}

type Memory = "on the GPU" | "in host memory";
const levelName = (memory: Memory) => `KV ${memory}`;

/** Tokens in one memory as a step line until the end of the next turn. */
function stepLine(story: Story, line: [number, number][]): [number, number][] {
  const points = line.map(([at, tokens]): [number, number] => [since(story, at), tokens]);
  const last = points[points.length - 1];
  if (last) points.push([endOf(story), last[1]]);
  return points;
}

function levelSeries(story: Story, at: number): object[] {
  const { vram, dram } = meanings();
  const line = { type: "line", step: "end", xAxisIndex: at, yAxisIndex: at, symbol: "none" };
  return [
    {
      ...line, name: levelName("on the GPU"), color: vram, lineStyle: { width: 1.6 },
      areaStyle: { opacity: FILL }, data: stepLine(story, story.gpu),
    },
    {
      ...line, name: levelName("in host memory"), color: dram, lineStyle: { width: 2, type: [5, 4] },
      data: stepLine(story, story.host),
    },
  ];
}

/** Bars in the strips below and above the KV. */
function bandSeries(story: Story, at: number, most: number): object[] {
  const color = colors();
  return spansOf(story).map(({ what, from, to }) => {
    const [low, high] = (what === "pinned" ? PINS : STAGES).map((share) => share * most);
    const area = [[{ coord: [from, low] }, { coord: [to, high] }]];
    return {
      type: "line", name: what, xAxisIndex: at, yAxisIndex: at, symbol: "none", data: [],
      silent: true,
      markArea: { silent: true, itemStyle: { color: color[what], opacity: 1 }, data: area },
    };
  });
}

/** Rows below each other with one axis of time; only the last one has its numbers. */
function rows(stories: Story[], until: number, most: number) {
  const last = stories.length - 1;
  const ends = [0, most];
  return {
    title: stories.map((story, i) => ({
      text: story.variant, left: 8, top: i * ROW + 4, padding: 2,
      textStyle: { fontSize: 12, fontWeight: "normal", color: cssVar("--text") },
    })),
    grid: stories.map((_, i) => ({
      left: 58, right: 18, top: i * ROW + TOP, height: ROW - TOP - 8, outerBoundsMode: "none",
    })),
    xAxis: stories.map((_, i) => ({
      ...xAxis(i === last ? "time since the turn ended [s]" : ""), gridIndex: i, min: 0, max: until,
      axisLabel: { show: i === last, formatter: brief }, axisTick: { show: i === last },
      axisLine: { onZero: false }, splitLine: { show: false },
    })),
    yAxis: stories.map((_, i) => ({
      type: "value", gridIndex: i, min: STAGES[0] * most, max: PINS[1] * most,
      axisLabel: { customValues: ends, formatter: brief }, axisTick: { customValues: ends },
      splitLine: { show: false },
    })),
  };
}

function tipOf(story: Story): string {
  const row = (name: string, text: string) => `${name} <b>${escapeHtml(text)}</b>`;
  const after = (at: Maybe) => seconds(at === null ? null : at - story.return);
  return [
    `<b>${escapeHtml(story.variant)}</b>`,
    row("left behind", `${num(story.context)} tokens`),
    row("hits on the GPU", `${num(story.found_gpu)} tokens`),
    row("hits in host memory", `${num(story.found_host)} tokens`),
    row("computed", `${num(story.computed)} tokens`),
    row("tool took", seconds(story.return - story.finish)),
    row("in queue", after(story.admit)),
    row("first token after", after(story.first)),
    row("waited for loads", seconds(story.load_stall)),
    row("computing again", seconds(story.recompute)),
  ].join("<br>");
}

interface CsvRow {
  policy: string;
  what: string;
  from: number;
  to: number;
  tokens: Maybe;
}

/** Levels as spans of constant value, and stages and pins. */
export function gapRows(stories: Story[]): CsvRow[] {
  return stories.flatMap((story) => {
    const policy = story.variant;
    const level = (memory: Memory, line: [number, number][]) =>
      line.map(([at, tokens], i) => ({
        policy, what: levelName(memory), from: since(story, at), tokens,
        to: i + 1 < line.length ? since(story, line[i + 1]?.[0] ?? 0) : endOf(story),
      }));
    const spans = spansOf(story).map((span) => ({ policy, ...span, tokens: null }));
    return [...level("on the GPU", story.gpu), ...level("in host memory", story.host), ...spans];
  });
}

function gapCsv(store: Store, gap: Gap, stories: Story[]): CsvColumn[] {
  const all = gapRows(stories);
  const columns = table(all, {
    policy: (row) => row.policy, what: (row) => row.what, from_s: (row) => row.from,
    to_s: (row) => row.to, tokens: (row) => row.tokens,
  });
  return [
    ...sourced(store.panel, columns, () => gap.jps, () => 1),
    column("job", all.map(() => gap.job)),
    column("after_turn", all.map(() => gap.turn + 1)),
  ];
}

export function gapKeys(): Key[] {
  const { vram, dram } = meanings();
  return [
    { name: levelName("on the GPU"), color: vram, fill: FILL },
    { name: levelName("in host memory"), color: dram, dash: [5, 4] },
    ...Object.entries(colors()).map(([name, color]) => ({ name, color })),
  ];
}

export function gapChart(store: Store): Drawing {
  const gap = chosen(store);
  const stories = shownStories(store);
  if (!gap) return nothing("No job of this cell has two turns.");
  if (stories.length === 0) return nothing("No policy is shown.");
  const until = Math.ceil(Math.max(...stories.map(endOf)) * 10) / 10;
  const most = Math.max(...stories.map((story) => story.context));
  const all = stories.map((_, i) => i);
  type Items = { axisIndex?: number }[] | { axisIndex?: number };
  return {
    option: {
      ...rows(stories, until, most),
      dataZoom: [{ type: "inside", xAxisIndex: all, zoomOnMouseWheel: "ctrl", filterMode: "none" }],
      tooltip: {
        trigger: "axis",
        formatter: (items: Items) => {
          const story = stories[(Array.isArray(items) ? items[0] : items)?.axisIndex ?? 0];
          return story ? tipOf(story) : "";
        },
      },
      series: stories.flatMap((story, i) => [
        ...levelSeries(story, i), ...bandSeries(story, i, most),
      ]),
    },
    keys: gapKeys(),
    csv: gapCsv(store, gap, stories),
    note: `KV of job ${gap.job} between its turns ${gap.turn + 1} and ${gap.turn + 2} at ` +
      `${rateText(store.cellRate)}, in tokens, from the recorded events; ` +
      "what the next turn found is recorded too. " +
      "Below it what the job does, above it how long it was pinned. " +
      `${store.panel.kind}, the first repeat.`,
  };
}
