// Any figure over any axis of the sweep: the reader chooses x, the series and the facets.
import { h } from "@/shared/dom";
import { num } from "@/shared/format";
import { policyOf } from "@/shared/policy_looks";
import { palette } from "@/shared/theme";

import { chartCard, type Card } from "./card";
import { metricSelect, select } from "./controls";
import { type Figure, type Group, type Maybe, type Panel } from "./data";
import { section } from "./elements";
import { axisTip, brief, looks, nothing, table, type Drawing, type Key } from "./parts";
import type { Store } from "./state";

/** A group with the values by which it can be arranged. */
export interface Item {
  group: Group;
  panel: Panel;
  at: Record<string, string>;
}

export const NONE = "none";
const POLICY = "policy", FAMILY = "policy without its memory", RATE = "arrival rate", MEMORY = "host memory", GPU = "GPU";
const HEIGHT = 250; // of a facet

/** The groups of all panels of one kind; each key of the settings is an axis of its own. */
export function itemsOf(panels: Panel[]): Item[] {
  return panels.flatMap((panel) => {
    const settings = panel.settings === "" ? [] : panel.settings.split(/, (?=[\w.]+=)/).map((each) => each.split("=") as [string, string]);
    return panel.groups.map((group) => ({
      group, panel,
      at: {
        [POLICY]: group.variant, [FAMILY]: policyOf(group.variant), [RATE]: group.jps, [MEMORY]: group.dram, [GPU]: panel.gpu,
        ...Object.fromEntries(settings),
      },
    }));
  });
}

/** Axes with at least two values. */
export function axesOf(items: Item[]): string[] {
  const names = [...new Set(items.flatMap(({ at }) => Object.keys(at)))];
  return names.filter((name) => new Set(items.map(({ at }) => at[name] ?? "-")).size > 1);
}

const isNumber = (text: string): boolean => text !== "" && !Number.isNaN(Number(text));

/** Numbers ascend, what has none comes first; texts keep their order. */
export function valuesOf(items: Item[], axis: string): string[] {
  const all = [...new Set(items.map(({ at }) => at[axis] ?? "-"))];
  if (!all.every((each) => each === "-" || isNumber(each))) return all;
  return all.sort((a, b) => (a === "-" ? -1 : b === "-" ? 1 : Number(a) - Number(b)));
}

/** What the reader chose, or the first axes that there are: the rate, the policy, the GPU. */
function chosen(store: Store, axes: string[]): { x: string; series: string; facet: string } {
  const { over, series, facet } = store.state;
  const one = (wanted: string, usual: string, taken: string[]) =>
    axes.includes(wanted) && !taken.includes(wanted) ? wanted
      : axes.includes(usual) && !taken.includes(usual) ? usual : axes.find((each) => !taken.includes(each)) ?? NONE;
  const x = one(over, RATE, []);
  const of = one(series, x === MEMORY ? FAMILY : POLICY, [x]);
  return { x, series: of, facet: axes.includes(facet) && ![x, of].includes(facet) ? facet : NONE };
}

/**
 * Items that may share a chart: in every other axis they have the value of the chosen panel, rate or policy, so that
 * nothing is averaged over it.
 */
export function fixed(items: Item[], free: string[], usual: Record<string, string>): { items: Item[]; note: string } {
  // A policy is its name and its memory: where one of them is free, the other is fixed by itself.
  const implied = free.includes(POLICY) ? [FAMILY, MEMORY] : free.includes(FAMILY) || free.includes(MEMORY) ? [POLICY] : [];
  const skip = (axis: string) => free.includes(axis) || implied.includes(axis);
  let left = items;
  const notes: string[] = [];
  for (const axis of axesOf(items)) {
    if (skip(axis)) continue;
    const values = valuesOf(left, axis);
    if (values.length < 2) continue;
    const wanted = values.find((value) => value === usual[axis]) ?? values[0];
    left = left.filter(({ at }) => (at[axis] ?? "-") === wanted);
    notes.push(`${axis} ${wanted}`);
  }
  return { items: left, note: notes.join(", ") };
}

function itemsShown(store: Store) {
  const panels = store.report.panels.filter(({ kind }) => kind === store.panel.kind);
  const all = itemsOf(panels).filter(({ group }) => store.state.metric in group.figures);
  const axes = axesOf(all), choice = chosen(store, axes);
  const here = itemsOf([store.panel])[0]?.at ?? {};
  const usual = { ...here, [RATE]: store.cellRate, [POLICY]: store.state.focus, [FAMILY]: policyOf(store.state.focus), [MEMORY]: "-" };
  const visible = all.filter(({ group }) => !store.state.hidden.has(group.variant));
  return { ...choice, axes, ...fixed(visible, [choice.x, choice.series, choice.facet], usual) };
}

const figureOf = ({ group }: Item, metric: string): Figure | undefined => group.figures[metric];

/** Of a series: that of its policy, or one by its position. */
function lookOf(store: Store, axis: string, value: string, at: number): { color: string; type: Key["dash"] } {
  if (axis === POLICY || axis === FAMILY) return looks(store.variants, value);
  return { color: palette()[at % 8] ?? "", type: "solid" };
}

/** Facets beside each other: labels need room. */
const facetsOfRow = () => (window.innerWidth < 640 ? 1 : 3);

export function exploreChart(store: Store): Drawing {
  const { x, series, facet, items, note } = itemsShown(store);
  const { metric } = store.state;
  if (items.length === 0 || x === NONE) return nothing("The cells differ in nothing that could be an axis.");
  const xs = valuesOf(items, x), names = series === NONE ? ["all"] : valuesOf(items, series);
  const facets = facet === NONE ? [""] : valuesOf(items, facet);
  const unit = items[0] && figureOf(items[0], metric)?.unit;
  const find = (panel: string, name: string, value: string) => items.find(({ at }) =>
    (facet === NONE || (at[facet] ?? "-") === panel) && (series === NONE || (at[series] ?? "-") === name) && (at[x] ?? "-") === value);
  const means: Maybe[] = items.map((item) => figureOf(item, metric)?.mean ?? null);
  const top = Math.max(...means.map((each) => each ?? 0));
  const row = facetsOfRow(), wide = 100 / Math.min(row, facets.length);
  const grids = facets.map((_, i) => ({
    ...(row === 1 ? { left: 60, right: 10 }
      : { left: `${(i % row) * wide + (facets.length === 1 ? 6 : 5)}%`, width: `${wide - 7}%` }),
    top: 34 + Math.floor(i / row) * HEIGHT, height: HEIGHT - 90,
  }));
  return {
    option: {
      grid: grids,
      title: facets.map((each, i) => ({
        text: each === "" ? "" : `${facet} ${each}`, left: grids[i]?.left, top: (grids[i]?.top ?? 0) - 30,
        textStyle: { fontSize: 12 },
      })),
      xAxis: facets.map((_, i) => ({ type: "category", data: xs, gridIndex: i, name: x, nameLocation: "middle", nameGap: 26 })),
      yAxis: facets.map((_, i) => ({
        type: "value", gridIndex: i, min: 0, max: top === 0 ? 1 : null, axisLabel: { formatter: brief },
        name: i % row === 0 ? `${metric}${unit ? ` [${unit}]` : ""}` : "", nameLocation: "middle", nameGap: 46,
      })),
      tooltip: axisTip((at) => `${x} ${at}`, (value) => num(value)),
      series: facets.flatMap((panel, i) => names.map((name, at) => {
        const look = lookOf(store, series, name, at);
        return {
          type: "line", name, xAxisIndex: i, yAxisIndex: i, color: look.color, symbol: "circle", symbolSize: 5, connectNulls: true,
          lineStyle: { width: 1.8, type: look.type },
          data: xs.map((value) => {
            const item = find(panel, name, value);
            return item ? figureOf(item, metric)?.mean ?? null : null;
          }),
        };
      })),
    },
    keys: names.map((name, at) => {
      const look = lookOf(store, series, name, at);
      return { name, color: look.color, dash: look.type ?? "solid" };
    }),
    csv: table(items, {
      figures: ({ panel }) => panel.kind, gpu: ({ panel }) => panel.gpu, settings: ({ panel }) => panel.settings,
      jps: ({ group }) => group.jps, policy: ({ group }) => group.variant, metric: () => metric,
      mean: (item) => figureOf(item, metric)?.mean, low95: (item) => figureOf(item, metric)?.interval?.[0],
      high95: (item) => figureOf(item, metric)?.interval?.[1], repeats: ({ group }) => group.repeats,
    }),
    note: `Means over the repeats.${note === "" ? "" : ` With ${note}.`} ${store.panel.kind}.`,
  };
}

/** Null if the cells differ in one axis at most. */
export function exploreSection(store: Store): Card | null {
  if (axesOf(itemsOf(store.report.panels)).length < 2) return null;
  // An axis has one role; of a policy's name and its memory each may have its own.
  const choices = (taken: string[], more: string[] = []) =>
    [...more, ...itemsShown(store).axes.filter((axis) => !taken.includes(axis))].map((value) => ({ value, text: value }));
  const card = chartCard("explore-chart", "", () => "figure.csv", () => exploreChart(store), {
    wide: true,
    height: () => {
      const { facet, items } = itemsShown(store);
      return 10 + HEIGHT * Math.ceil((facet === NONE ? 1 : valuesOf(items, facet).length) / facetsOfRow());
    },
  });
  const element = section("explore", "Any figure over any axis",
    h("div", { class: "controls still" },
      metricSelect(store, "figure to explore"),
      select(store, "x", () => choices([]), () => itemsShown(store).x, (over) => store.set({ over })),
      select(store, "series", () => choices([itemsShown(store).x]), () => itemsShown(store).series, (series) => store.set({ series })),
      select(store, "facet", () => choices([itemsShown(store).x, itemsShown(store).series], [NONE]), () => itemsShown(store).facet, (facet) => store.set({ facet }))),
    card.element);
  return { element, refresh: () => card.refresh() };
}
