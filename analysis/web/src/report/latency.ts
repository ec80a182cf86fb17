// Latency by turn, T1 to T8: two cards side by side, two sizes of host memory below each
// other.
import { h } from "@/shared/dom";

import { chartCard, type Card } from "./card";
import { highestTurn, turnLatencyChart } from "./compare";
import { check, panelChoices, policyToggles, select } from "./controls";
import { dramSizes, panelName, rateText, type Panel } from "./data";
import { section } from "./elements";
import { nothing } from "./parts";
import { sameKind, type Store } from "./state";

const FIRST_TURNS = 8;
const SIDES = ["left", "right"] as const;
const PLACES = ["less", "more"] as const;

type Side = (typeof SIDES)[number];
type Place = (typeof PLACES)[number];

const panelAt = (store: Store, side: Side): Panel =>
  store.report.panels[store.state[side]] as Panel;

/**
 * Sizes differ from card to card (400 GiB here, 200 there): a card without the chosen one shows its
 * own.
 */
function sizeOn(store: Store, side: Side, place: Place): string {
  const sizes = dramSizes(panelAt(store, side));
  if (sizes.includes(store.state[place])) return store.state[place];
  return (place === "less" ? sizes[0] : sizes[sizes.length - 1]) ?? "-";
}

function turnsShown(store: Store): number {
  const counts = SIDES.flatMap((side) =>
    panelAt(store, side).pooled.map((pool) => pool.turns.length),
  );
  const most = Math.max(1, ...counts);
  return store.state.all_turns ? most : Math.min(FIRST_TURNS, most);
}

/** Charts below each other share an axis; cards beside each other may differ by far. */
function topOf(store: Store, side: Side) {
  const panel = panelAt(store, side);
  const places = PLACES.map((place) => ({ panel, dram: sizeOn(store, side, place) }));
  return highestTurn(places, store.state.at, turnsShown(store), store.state.hidden);
}

/** Whether two cards can show different sizes of host memory. */
const hasSizes = (panels: Panel[]): boolean => panels.some((panel) => dramSizes(panel).length > 1);

const sizesDiffer = (store: Store): boolean =>
  SIDES.some((side) => sizeOn(store, side, "less") !== sizeOn(store, side, "more"));

function latencyCard(store: Store, side: Side, place: Place): Card {
  const memory = () => {
    const dram = sizeOn(store, side, place);
    return dram === "-" ? "no host memory" : `${dram} GiB`;
  };
  const title = () =>
    `${panelName(panelAt(store, side))}, ${memory()}, ${rateText(store.state.at)}`;
  const file = () => `turn-latency-${panelAt(store, side).gpu}-${sizeOn(store, side, place)}.csv`;
  return chartCard(`latency-${PLACES.indexOf(place)}-${side}`, title, file, () => {
    if (side === "right" && panelAt(store, "left") === panelAt(store, "right")) {
      return nothing("Nothing else of this kind to set beside it.");
    }
    if (place === "more" && !sizesDiffer(store)) {
      return nothing("These cells have one size of host memory.");
    }
    return turnLatencyChart(store, {
      panel: panelAt(store, side), jps: store.state.at, dram: sizeOn(store, side, place),
      turns: turnsShown(store), top: topOf(store, side),
    });
  });
}

function latencyControls(store: Store): HTMLElement {
  const { panels } = store.report;
  const isOne = panels.length === 1, sized = hasSizes(panels);
  const choices = (at: number[]) => panelChoices(store.report, at);
  const sizes = () =>
    [...new Set(SIDES.flatMap((side) => dramSizes(panelAt(store, side))))]
      .sort((a, b) => Number(a) - Number(b))
      .map((value) => ({ value, text: `${value} GiB` }));
  const rates = () =>
    panelAt(store, "left").rates.map((value) => ({ value, text: rateText(value) }));
  return h("div", { class: "controls" },
    // Kinds are never mixed: the right card follows the left one's kind.
    select(store, isOne ? "GPU" : "left GPU", () => choices(panels.map((_, i) => i)),
      () => String(store.state.left), (value) => store.set({ left: Number(value), right: -1 })),
    !isOne && select(store, "right GPU", () => choices(sameKind(store.report, store.state.left)),
      () => String(store.state.right), (value) => store.set({ right: Number(value) })),
    sized && select(store, "less host memory", sizes, () => store.state.less, (less) => store.set({ less })),
    sized && select(store, "more host memory", sizes, () => store.state.more, (more) => store.set({ more })),
    select(store, "rate", rates, () => store.state.at, (at) => store.set({ at })),
    check(store, "all turns", "all_turns"),
    policyToggles(store));
}

/** No card without a chart: a sweep of one GPU has no right side, one size of memory no second row. */
export function latencySection(store: Store): Card {
  const { panels } = store.report;
  const sides = SIDES.slice(0, panels.length), places = PLACES.slice(0, hasSizes(panels) ? 2 : 1);
  const cards = places.flatMap((place) => sides.map((side) => latencyCard(store, side, place)));
  const element = section("latency", "Latency by turn",
    latencyControls(store),
    h("div", { class: "two" }, ...cards.map((card) => card.element)));
  return { element, refresh: () => cards.forEach((card) => card.refresh()) };
}
