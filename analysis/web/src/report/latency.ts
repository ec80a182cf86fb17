// Latency by turn, T1 to T8: two cards beside each other, two sizes of host memory below each other.
import { h } from "@/shared/dom";

import { chartCard, type Card } from "./card";
import { dramSizes, highestTurn, turnLatencyChart } from "./compare";
import { policyToggles, select } from "./controls";
import { panelName, rateText, type Panel } from "./data";
import { nothing } from "./parts";
import type { Store } from "./state";
import { section } from "./tables";

const FIRST_TURNS = 8;

interface Choice {
  left: number;
  right: number;
  sizes: [string, string];
  rate: string;
  all_turns: boolean;
}

/** Sizes differ from card to card (400 GiB here, 200 there): the smallest and the largest of each by default. */
function sizeOn(panel: Panel, wanted: string, place: 0 | 1): string {
  const sizes = dramSizes(panel);
  if (sizes.includes(wanted) || sizes.length === 0) return sizes.length === 0 ? "-" : wanted;
  return (place === 0 ? sizes[0] : sizes[sizes.length - 1]) ?? "-";
}

export function latencySection(store: Store): Card {
  const { panels } = store.report;
  const same = (at: number) => panels.flatMap((panel, i) => (panel.kind === panels[at]?.kind ? [i] : []));
  const other = same(0).find((i) => panels[i]?.gpu !== panels[0]?.gpu) ?? 0;
  const first = panels[0] as Panel;
  const rates = first.rates;
  const sizes = dramSizes(first);
  const choice: Choice = {
    left: 0, right: other, rate: rates[Math.floor(rates.length / 2)] ?? "", all_turns: false,
    sizes: [sizes[0] ?? "-", sizes[sizes.length - 1] ?? "-"],
  };
  const panelOf = (side: "left" | "right") => panels[choice[side]] as Panel;
  const size = (side: "left" | "right", place: 0 | 1) => sizeOn(panelOf(side), choice.sizes[place], place);
  const turns = () => {
    const most = Math.max(1, ...(["left", "right"] as const).flatMap((side) => panelOf(side).pooled.map((pool) => pool.turns.length)));
    return choice.all_turns ? most : Math.min(FIRST_TURNS, most);
  };
  const places = ([0, 1] as const).flatMap((place) => (["left", "right"] as const).map((side) => ({ place, side })));
  // Charts below each other share an axis; cards beside each other may differ by far.
  const top = (side: "left" | "right") =>
    highestTurn(([0, 1] as const).map((place) => ({ panel: panelOf(side), dram: size(side, place) })), choice.rate, turns(), store.state.hidden);
  const differ = () => size("left", 0) !== size("left", 1) || size("right", 0) !== size("right", 1);
  const title = (side: "left" | "right", place: 0 | 1) => {
    const dram = size(side, place);
    return `${panelName(panelOf(side))}, ${dram === "-" ? "no host memory" : `${dram} GiB`}, ${rateText(choice.rate)}`;
  };
  const cards = places.map(({ place, side }) =>
    chartCard(`latency-${place}-${side}`, () => title(side, place), () => `turn-latency-${panelOf(side).gpu}-${size(side, place)}.csv`, () => {
      const panel = panelOf(side), dram = size(side, place);
      return place === 1 && !differ() ? nothing("These cells have one size of host memory.") : turnLatencyChart(store, panel, choice.rate, dram, turns(), top(side));
    }));
  const refresh = () => cards.forEach((card) => card.refresh());
  const choose = (change: Partial<Choice>) => {
    Object.assign(choice, change);
    store.set({});
  };
  const gpus = (side: "left" | "right") => () =>
    (side === "left" ? panels.map((_, i) => i) : same(choice.left)).map((i) => ({ value: String(i), text: `${panelName(panels[i] as Panel)}: ${panels[i]?.kind ?? ""}` }));
  const allSizes = () => [...new Set([...dramSizes(panelOf("left")), ...dramSizes(panelOf("right"))])].sort((a, b) => Number(a) - Number(b)).map((value) => ({ value, text: `${value} GiB` }));
  const box = h("input", { type: "checkbox", onchange: () => choose({ all_turns: box.checked }) });
  const element = section("latency", "Latency by turn, on two GPUs with two sizes of host memory",
    h("div", { class: "controls" },
      // Kinds are never mixed: the right card follows the left one's kind.
      select(store, "left GPU", gpus("left"), () => String(choice.left), (value) => choose({ left: Number(value), right: same(Number(value)).find((i) => i !== Number(value)) ?? Number(value) })),
      select(store, "right GPU", gpus("right"), () => String(choice.right), (value) => choose({ right: Number(value) })),
      select(store, "less host memory", allSizes, () => choice.sizes[0], (value) => choose({ sizes: [value, choice.sizes[1]] })),
      select(store, "more host memory", allSizes, () => choice.sizes[1], (value) => choose({ sizes: [choice.sizes[0], value] })),
      select(store, "rate", () => panelOf("left").rates.map((value) => ({ value, text: rateText(value) })), () => choice.rate, (rate) => choose({ rate })),
      h("label", { class: "choice" }, h("span", { class: "small muted" }, "turns"), h("span", {}, box, " all")), policyToggles(store)),
    h("div", { class: "two" }, ...cards.map((card) => card.element)));
  return { element, refresh };
}
