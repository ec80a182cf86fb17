// One GPU: mean and tail by load, the parts of a job's time, and the other charts of it.
import { h } from "@/shared/dom";

import { KEYS, chartCard, type Card, type CardOptions } from "./card";
import { chartAt, without, type Chart } from "@/charts/chart";
import { controls, gpuSelect, policyToggles, turnsSwitch, xSwitch } from "./controls";
import { ALL } from "./data";
import { draw, heightOf } from "@/charts/draw";
import { safeName, section } from "./elements";
import { nothing } from "@/charts/parts";
import type { Store } from "./state";

/** Charts of single cells: where all rates are together they show the highest. */
const OF_A_CELL = new Set(["pool", "queue", "traffic", "one-gap"]);

export function panelChart(store: Store, id: string): Chart | undefined {
  const { x, turns, focus, repeat, rate, tail, hidden } = store.state;
  const choose = (at: number) => chartAt(store.panel.charts, id, {
    x, turns, tail, policy: focus, repeat: String(at), rate: rate === ALL && OF_A_CELL.has(id) ? store.cellRate : rate,
  });
  const chart = choose(repeat) ?? choose(0);
  return chart && without(chart, hidden);
}

export function panelCard(store: Store, id: string, title: string, options: CardOptions = {}): Card {
  const file = () => safeName(`${store.panel.gpu}-${id}.csv`);
  const drawing = () => {
    const chart = panelChart(store, id);
    return chart ? draw(chart, store.variants) : nothing(`No cell of ${store.state.focus} here.`);
  };
  const height = () => {
    const chart = panelChart(store, id);
    return chart ? heightOf(chart) : 160;
  };
  return chartCard(id, title, file, drawing, { height, ...options });
}

/** What a reader wants to see first. */
export function loadSection(store: Store): Card {
  const card = panelCard(store, "load", "");
  const element = section("picture", "Mean and tail by load",
    h("div", { class: "controls still" }, gpuSelect(store, "GPU of the picture"), policyToggles(store)), card.element);
  return { element, refresh: () => card.refresh() };
}

export function panelSection(store: Store): Card {
  const why = panelCard(store, "why", "Why a policy wins: where the time of a job goes", { wide: true });
  const small = [
    panelCard(store, "tokens", "Forward tokens per step", { controls: [xSwitch(store)] }),
    panelCard(store, "step-time", "Step time over tokens", { controls: [xSwitch(store)] }),
    panelCard(store, "turns", "Turn duration by turn", { controls: [turnsSwitch(store)] }),
    panelCard(store, "jct", "Job completion times"),
    panelCard(store, "pool", "KV pool over time"),
    panelCard(store, "queue", "Queue over time"),
    panelCard(store, "hits", "Where prompt tokens came from"),
    panelCard(store, "traffic", "Bytes moved and stalls"),
  ];
  const gap = panelCard(store, "one-gap", "One gap: a job's KV while its tool runs", { wide: true });
  const name = "One GPU in charts";
  const element = h("section", { class: "panel", id: "panel", "aria-label": name },
    h("h2", {}, name), controls(store), h("p", { class: "small muted key-help" }, KEYS), why.element,
    h("div", { class: "nine" }, ...small.map((each) => each.element)), gap.element);
  return { element, refresh: () => [why, ...small, gap].forEach((each) => each.refresh()) };
}
