// Any figure over any axis of the sweep: the reader chooses x, the series and the facets.
import { h } from "@/shared/dom";
import { policyOf } from "@/shared/policy_looks";

import { chartCard, type Card } from "./card";
import { metricSelect, select } from "./controls";
import type { Chart } from "@/charts/chart";
import { rateText, type Figure, type Group, type Panel } from "./data";
import { draw, heightOf } from "@/charts/draw";
import { section } from "./elements";
import type { Store } from "./state";

/** A group with the values by which it can be arranged. */
export interface Item {
  group: Group;
  panel: Panel;
  at: Record<string, string>;
}

export const NONE = "none";
const POLICY = "policy", FAMILY = "policy without its memory", RATE = "arrival rate", MEMORY = "host memory", GPU = "GPU";

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

/** A panel for each facet; policies have their colors. */
export function exploreChart(store: Store): Chart {
  const { x, series, facet, items, note } = itemsShown(store);
  const { metric } = store.state, { kind, gpu } = store.panel;
  const chart: Chart = {
    id: "explore", title: "", note: `Means over the repeats.${note === "" ? "" : ` With ${note}.`} ${kind}.`, kind,
    gpu: facet === GPU || x === GPU || series === GPU ? "" : gpu, settings: "", jps: x === RATE ? "" : rateText(store.cellRate), at: {}, columns: 3, panels: [],
  };
  if (items.length === 0 || x === NONE) return { ...chart, nothing: "The cells differ in nothing that could be an axis." };
  const names = valuesOf(items, x), unit = items[0] && figureOf(items[0], metric)?.unit;
  const of = (axis: string): string[] => (axis === NONE ? [""] : valuesOf(items, axis));
  const is = ({ at }: Item, axis: string, value: string) => axis === NONE || (at[axis] ?? "-") === value;
  const panels = of(facet).map((panel) => ({
    name: facet === NONE ? "" : `${facet} ${panel}`, x: { name: x, names }, y: { name: `${metric}${unit ? ` [${unit}]` : ""}`, from: 0 },
    series: of(series).flatMap((name, i) => {
      const own = names.flatMap((place, at) => {
        const figure = figureFor(items.filter((item) => is(item, facet, panel) && is(item, series, name) && is(item, x, place)), metric);
        return figure ? [{ at, ...figure }] : [];
      });
      return own.length === 0 ? [] : [{
        name: name || "all", draw: "line" as const, points: true, ...(series === POLICY || series === FAMILY ? { policy: name } : { color: String(i) }),
        x: own.map(({ at }) => at), y: own.map(({ figure }) => figure.mean), low: own.map(({ figure }) => figure.interval?.[0] ?? null),
        high: own.map(({ figure }) => figure.interval?.[1] ?? null), more: { repeats: own.map(({ repeats }) => repeats) },
      }];
    }),
  }));
  return { ...chart, panels };
}

function figureFor([item]: Item[], metric: string): { figure: Figure; repeats: number } | undefined {
  const figure = item && figureOf(item, metric);
  return figure && item ? { figure, repeats: item.group.repeats } : undefined;
}

/** Null if the cells differ in one axis at most. */
export function exploreSection(store: Store): Card | null {
  if (axesOf(itemsOf(store.report.panels)).length < 2) return null;
  // An axis has one role; of a policy's name and its memory each may have its own.
  const choices = (taken: string[], more: string[] = []) =>
    [...more, ...itemsShown(store).axes.filter((axis) => !taken.includes(axis))].map((value) => ({ value, text: value }));
  const card = chartCard("explore-chart", "", () => "figure.csv", () => draw(exploreChart(store), store.variants), {
    wide: true, height: () => heightOf(exploreChart(store)),
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
