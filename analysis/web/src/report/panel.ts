// One GPU: the parts of a job's time, nine charts, and one gap.
import { h } from "@/shared/dom";

import { KEYS, chartCard, type Card, type CardOptions } from "./card";
import { controls, turnsSwitch, xSwitch } from "./controls";
import { safeName } from "./elements";
import { gapChart, gapHeight } from "./gap";
import { hitsChart, jctChart, jctOverRateChart, partsChart, turnsChart } from "./jobs";
import type { Drawing } from "./parts";
import type { Store } from "./state";
import { stepTimeChart, tokensChart } from "./steps";
import { poolChart, queueChart, trafficChart } from "./times";

export function panelSection(store: Store): Card {
  const card = (
    id: string, title: string, draw: (store: Store) => Drawing, options: CardOptions = {},
  ) => {
    const file = () => safeName(`${store.panel.gpu}-${id}.csv`);
    return chartCard(id, title, file, () => draw(store), options);
  };
  const why = card("why", "Why a policy wins: where the time of a job goes", partsChart, {
    wide: true, height: () => 60 + 34 * Math.max(2, store.visible.length),
  });
  const nine = [
    card("tokens", "Forward tokens per step", tokensChart, { controls: [xSwitch(store)] }),
    card("step-time", "Step time over tokens", stepTimeChart, { controls: [xSwitch(store)] }),
    card("turns", "Turn duration by turn", turnsChart, { controls: [turnsSwitch(store)] }),
    card("jct", "Job completion times", jctChart),
    card("jct-rate", "Job completion time by rate", jctOverRateChart),
    card("pool", "KV pool over time", poolChart),
    card("queue", "Queue over time", queueChart),
    card("hits", "Where prompt tokens came from", hitsChart),
    card("traffic", "Bytes moved and stalls", trafficChart),
  ];
  const gap = card("one-gap", "One gap: a job's KV while its tool runs", gapChart, {
    wide: true, height: () => gapHeight(store),
  });
  const name = "One GPU in nine charts";
  const element = h("section", { class: "panel", id: "panel", "aria-label": name },
    h("h2", {}, name), controls(store), h("p", { class: "small muted key-help" }, KEYS), why.element,
    h("div", { class: "nine" }, ...nine.map((each) => each.element)), gap.element);
  return { element, refresh: () => [why, ...nine, gap].forEach((each) => each.refresh()) };
}
