// One GPU: mean and tail by load, the parts of a job's time, and the other charts of it.
import { h } from "@/shared/dom";

import { KEYS, chartCard, type Card, type CardOptions } from "./card";
import { chartAt, without, type Chart } from "@/charts/chart";
import { controls, gpuSelect, policyToggles, turnsSwitch, xSwitch } from "./controls";
import { draw, heightOf } from "@/charts/draw";
import { safeName, section } from "./elements";
import { nothing } from "@/charts/parts";
import type { Store } from "./state";

export function panelChart(store: Store, id: string): Chart | undefined {
  const { x, turns, focus, rate, hidden } = store.state;
  // A gap is one cell's: where all rates are together, one of the highest.
  const chart = chartAt(store.panel.charts, id, { x, turns, policy: focus, rate: id === "one-gap" ? store.cellRate : rate });
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
    panelCard(store, "hits", "Where prompt tokens came from"),
  ];
  const gap = panelCard(store, "one-gap", "One gap: a job's KV while its tool runs", { wide: true });
  const name = "One GPU in charts";
  const element = h("section", { class: "panel", id: "panel", "aria-label": name },
    h("h2", {}, name), controls(store), h("p", { class: "small muted key-help" }, KEYS), why.element,
    h("div", { class: "nine" }, ...small.map((each) => each.element)), gap.element);
  return { element, refresh: () => [why, ...small, gap].forEach((each) => each.refresh()) };
}
