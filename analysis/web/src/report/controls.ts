import { h, replace } from "@/shared/dom";
import { onThemeChange } from "@/shared/theme";

import { ALL, deviceOf, rateText, type Report } from "./data";
import { badge } from "./elements";
import { designsOf, MANY_PANELS, shortened } from "./folds";
import { looks, swatch } from "@/charts/parts";
import type { State, Store } from "./state";

interface Choice {
  value: string;
  text: string;
  /** Choices with the same one follow each other, below it. */
  group?: string;
}

/** Options, those of a group within it. */
function optionsOf(choices: Choice[]): HTMLElement[] {
  const groups = [...new Set(choices.map(({ group }) => group))];
  return groups.flatMap((group) => {
    const own = choices.filter((each) => each.group === group)
      .map((each) => h("option", { value: each.value }, each.text));
    return group === undefined ? own : [h("optgroup", { label: group }, ...own)];
  });
}

/** A labeled select that follows the state; `spoken` tells it from others with the same label. */
export function select(
  store: Store, label: string, choices: () => Choice[], value: () => string,
  choose: (value: string) => void, spoken = label,
): HTMLElement {
  const box = h("select", { "aria-label": spoken, onchange: () => choose(box.value) });
  const fill = () => {
    replace(box, ...optionsOf(choices()));
    box.value = value();
  };
  store.onChange(fill);
  fill();
  return h("label", { class: "choice" }, h("span", { class: "small muted" }, label), box);
}

/** The panels of these numbers; many are named by what differs, below what they have in common. */
export function panelChoices({ panels }: Report, numbers = panels.map((_, i) => i)): Choice[] {
  if (numbers.length <= MANY_PANELS)
    return numbers.map((i) => ({ value: String(i), text: panels[i]?.name ?? "" }));
  const has_kinds = new Set(panels.map(({ kind }) => kind)).size > 1;
  return designsOf(panels).flatMap((design) => {
    const gpus = [...new Set(design.panels.map(({ gpu }) => gpu))];
    const common = [has_kinds && design.kind, ...gpus, design.shared];
    const group = common.filter((each) => each !== false && each !== "").join(", ");
    return design.panels.filter((panel) => numbers.includes(panels.indexOf(panel))).map((panel) => {
      const { settings } = shortened(panel, design);
      const own = [...(gpus.length > 1 || settings === "" ? [panel.gpu] : []), ...(settings === "" ? [] : [settings])];
      return { value: String(panels.indexOf(panel)), text: own.join(", "), group };
    });
  });
}

/** Chooses the panel; `spoken` tells it from others. */
export function gpuSelect(store: Store, spoken: string): HTMLElement {
  const choices = panelChoices(store.report);
  return select(store, "GPU", () => choices, () => String(store.state.panel),
    (panel) => store.set({ panel: Number(panel) }), spoken);
}

type Flag = { [K in keyof State]: State[K] extends boolean ? K : never }[keyof State];

/** A labeled check box for a part of the state that is on or off. */
export function check(store: Store, label: string, flag: Flag): HTMLElement {
  const box = h("input", {
    type: "checkbox", "aria-label": label, onchange: () => store.set({ [flag]: box.checked }),
  });
  const mark = () => (box.checked = store.state[flag]);
  store.onChange(mark);
  mark();
  return h("label", { class: "check" }, box, ` ${label}`);
}

/** Two buttons, of which one is always pressed. */
function either(store: Store, label: "tokens" | "turns", key: "x" | "turns", choices: [value: string, text: string, title: string][]): HTMLElement {
  const buttons = choices.map(([value, text, title]) =>
    h("button", { type: "button", title, onclick: () => store.set({ [key]: value }) }, text));
  const mark = () => buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(store.state[key] === choices[i]?.[0])));
  store.onChange(mark);
  mark();
  return h("span", { class: "switch", role: "group", "aria-label": label }, ...buttons);
}

/** The published figures do not say which tokens they show. */
export const xSwitch = (store: Store): HTMLElement => either(store, "tokens", "x",
  [["largest", "largest", "x: tokens of the largest request"], ["total", "total", "x: tokens of the step"]]);

export const turnsSwitch = (store: Store): HTMLElement => either(store, "turns", "turns",
  [["each", "each", "how long each turn takes"], ["sum", "so far", "how long all turns up to this one take"]]);

export function metricSelect(store: Store): HTMLElement {
  const groups = store.report.panels.flatMap((panel) => panel.groups);
  const metrics = [...new Set(groups.flatMap((group) => Object.keys(group.figures)))];
  return select(store, "figure", () => metrics.map((value) => ({ value, text: value })),
    () => store.state.metric, (metric) => store.set({ metric }));
}

function policyButton(store: Store, variant: string): HTMLElement {
  const { color, type } = looks(store.variants, variant);
  return h("button", {
    type: "button", "aria-pressed": store.state.hidden.has(variant) ? "false" : "true",
    "data-variant": variant, title: `Show or hide ${variant}`,
    onclick: () => store.toggle(variant),
  }, swatch({ name: variant, color, dash: type }), variant);
}

export function policyToggles(store: Store): HTMLElement {
  const box = h("div", { class: "policies", role: "group", "aria-label": "policies" });
  const fill = () => {
    const active = document.activeElement as HTMLElement | null;
    const focused = box.contains(active) ? active?.dataset["variant"] : undefined;
    replace(box, ...store.panel.variants.map((variant) => policyButton(store, variant)));
    if (focused === undefined) return;
    const buttons = [...box.querySelectorAll("button")];
    buttons.find((each) => each.dataset["variant"] === focused)?.focus();
  };
  store.onChange(fill);
  onThemeChange(fill);
  fill();
  return box;
}

/** The kind of the chosen card's numbers, and the detected device. */
function kindOfPanel(store: Store): HTMLElement {
  const box = h("span", { class: "kind" });
  const mark = () => {
    const device = deviceOf(store.panel);
    replace(box, badge(store.panel.kind),
      device !== "" && h("span", { class: "small muted" }, ` on ${device}`));
  };
  store.onChange(mark);
  mark();
  return box;
}

/** Selectors of the card, the rate and the policies. */
export function controls(store: Store): HTMLElement {
  const rates = () =>
    [ALL, ...store.panel.rates].map((value) => ({ value, text: rateText(value) }));
  const policies = () => store.panel.variants.map((value) => ({ value, text: value }));
  return h("div", { class: "controls", role: "region", "aria-label": "what the charts show" },
    gpuSelect(store, "GPU"),
    select(store, "arrival rate", rates, () => store.state.rate, (rate) => store.set({ rate })),
    select(store, "policy in detail", policies, () => store.state.focus,
      (focus) => store.set({ focus })),
    kindOfPanel(store), policyToggles(store));
}
