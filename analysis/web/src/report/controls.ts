import { h, replace } from "@/shared/dom";
import { onThemeChange } from "@/shared/theme";

import { ALL, panelName, rateText } from "./data";
import { looks } from "./parts";
import { badge } from "./tables";
import type { Store } from "./state";

interface Choice {
  value: string;
  text: string;
}

/** A labelled select that follows the state. */
export function select(store: Store, label: string, choices: () => Choice[], value: () => string, choose: (value: string) => void): HTMLElement {
  const box = h("select", { "aria-label": label, onchange: () => choose(box.value) });
  const fill = () => {
    replace(box, ...choices().map(({ value: each, text }) => h("option", { value: each, selected: each === value() }, text)));
    box.value = value();
  };
  store.onChange(fill);
  fill();
  return h("label", { class: "choice" }, h("span", { class: "small muted" }, label), box);
}

export function metricSelect(store: Store): HTMLElement {
  const metrics = () => [...new Set(store.report.panels.flatMap((panel) => panel.groups.flatMap((group) => Object.keys(group.figures))))];
  return select(store, "figure", () => metrics().map((value) => ({ value, text: value })), () => store.state.metric, (metric) => store.set({ metric }));
}

/** Total tokens of the step, or those of its largest request: the published figures do not say which they show. */
export function xSwitch(store: Store): HTMLElement {
  const button = (x: "largest" | "total", text: string, title: string) => h("button", { type: "button", title, onclick: () => store.set({ x }) }, text);
  const largest = button("largest", "largest", "x: tokens of the largest request"), total = button("total", "total", "x: tokens of the step");
  const mark = () => {
    largest.setAttribute("aria-pressed", String(store.state.x === "largest"));
    total.setAttribute("aria-pressed", String(store.state.x === "total"));
  };
  store.onChange(mark);
  mark();
  return h("span", { class: "switch", role: "group", "aria-label": "tokens" }, largest, total);
}

export function policyToggles(store: Store): HTMLElement {
  const box = h("div", { class: "policies", role: "group", "aria-label": "policies" });
  const fill = () => {
    const focused = box.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset["variant"] : undefined;
    replace(box, ...store.panel.variants.map((variant) => {
      const dot = h("span", { class: "dot" });
      dot.style.background = looks(store.variants, variant).color;
      return h("button", { type: "button", "aria-pressed": !store.state.hidden.has(variant) ? "true" : "false", "data-variant": variant,
        title: `Show or hide ${variant}`, onclick: () => store.toggle(variant) }, dot, variant);
    }));
    if (focused !== undefined) [...box.querySelectorAll("button")].find((each) => each.dataset["variant"] === focused)?.focus();
  };
  store.onChange(fill);
  onThemeChange(fill);
  fill();
  return box;
}

/** What the charts show: the card, the rate, the policies, and the cell of the charts over time. */
export function controls(store: Store): HTMLElement {
  const kind = h("span", {});
  const mark = () => replace(kind, badge(store.panel.kind));
  store.onChange(mark);
  mark();
  const repeats = () => Math.max(1, ...store.panel.groups.map((group) => group.repeats));
  return h("div", { class: "controls", role: "region", "aria-label": "what the charts show" },
    select(store, "GPU", () => store.report.panels.map((panel, i) => ({ value: String(i), text: `${panelName(panel)}: ${panel.kind}` })),
      () => String(store.state.panel), (panel) => store.set({ panel: Number(panel) })),
    select(store, "arrival rate", () => [ALL, ...store.panel.rates].map((value) => ({ value, text: rateText(value) })),
      () => store.state.rate, (rate) => store.set({ rate })),
    select(store, "policy in detail", () => store.panel.variants.map((value) => ({ value, text: value })), () => store.state.focus, (focus) => store.set({ focus })),
    select(store, "repeat", () => Array.from({ length: repeats() }, (_, i) => ({ value: String(i), text: String(i + 1) })),
      () => String(store.state.repeat), (repeat) => store.set({ repeat: Number(repeat) })),
    kind, policyToggles(store));
}
