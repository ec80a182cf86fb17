// Charts that follow no choice: figures of studies beside published values, and the access logs of cells.
import { csvButton } from "@/shared/csv";
import { h } from "@/shared/dom";
import { even, num } from "@/shared/format";

import { chartCard, type Card } from "./card";
import { panelsAlone, placeText, type Chart, type Series } from "@/charts/chart";
import type { Report } from "./data";
import { csvOf, draw, heightOf } from "@/charts/draw";
import { badge, dataTable, number, numbers, rowHead, safeName, texts } from "./elements";
import { csvOfTables, tableOf } from "./tables";

const NARROW = 6; // columns of a table that has room beside others

const fileOf = ({ title, gpu }: Chart): string => `${safeName([title, gpu].filter((each) => each !== "").join("-"))}.csv`;
const kindOf = ({ kind, gpu }: Chart): string => kind + (gpu === "" ? "" : `, ${gpu}`);

/** A row for each series. */
function tableCard(chart: Chart): HTMLElement {
  const [panel] = chart.panels;
  if (!panel) return h("article", {});
  const places = [...new Set(panel.series.flatMap(({ x }) => x))].sort((a, b) => (a ?? 0) - (b ?? 0));
  const row = (series: Series) => [
    { ...rowHead(series.name), title: series.source ?? chart.kind }, ...places.map((at) => number(num(series.y[series.x.indexOf(at)] ?? null, 5))),
  ];
  const name = (at: number | null) => {
    const text = placeText(panel.x, at);
    return typeof text === "number" ? even(text, 12).replace(/\.0+$/, "") : text;
  };
  return h("article", { class: `card study-table${places.length > NARROW ? " wide" : ""}` },
    h("header", {}, h("h3", {}, chart.title), h("span", { class: "tools" }, csvButton(fileOf(chart), () => csvOf(chart)))),
    h("p", { class: "small" }, `${kindOf(chart)}; ${panel.y.name}`),
    dataTable(chart.title, [...texts(panel.x.name), ...numbers(...places.map((at) => String(name(at))))], panel.series.map(row)),
    h("p", { class: "small muted" }, chart.note));
}

function cardOf(chart: Chart, id: string): Card {
  if (chart.is_table) return { element: tableCard(chart), refresh: () => undefined };
  const card = chartCard(id, chart.title, () => fileOf(chart), () => draw(chart, []), { height: () => heightOf(chart) });
  card.element.querySelector("h3")?.after(h("span", { class: "small muted" }, kindOf(chart)));
  return card;
}

const together = (element: HTMLElement, cards: Card[]): Card => ({ element, refresh: () => cards.forEach((card) => card.refresh()) });

const CAPACITY = "capacity";

/** What each policy serves within limits, first of all; empty unless an archive is of kvsweep capacity. */
export function capacitySection({ studies: charts, tables }: Report): Card[] {
  const own = tables.filter(({ part }) => part === CAPACITY);
  if (own.length === 0) return [];
  const cards = charts.filter(({ at }) => at["study"] === CAPACITY).map((chart, i) => cardOf(chart, `capacity-${i}`));
  return [together(h("section", { class: "study", id: CAPACITY, "aria-label": "Capacity" },
    h("h2", {}, "Capacity: the largest load within limits"),
    h("div", { class: "pairs" }, ...cards.map((card) => card.element)),
    ...own.flatMap((table) => [
      h("h3", {}, `${table.heading} `, badge(table.kind), csvButton("capacity.csv", () => csvOfTables([table]))), tableOf(table),
      ...table.notes.map((note) => h("p", { class: "small warn" }, note))])), cards)];
}

/** The studies' figures, one card for each panel. */
export function studiesSection({ studies: charts }: Report): Card[] {
  const studies = [...new Set(charts.map(({ at }) => at["study"] ?? ""))].filter((study) => study !== CAPACITY);
  return studies.map((study) => {
    const own = charts.filter(({ at }) => at["study"] === study).flatMap(panelsAlone);
    const cards = own.map((chart, i) => cardOf(chart, `study-${study}-${i}`));
    return together(h("section", { class: "study", id: `figures-${study}`, "aria-label": `Figures of ${study}` },
      h("h2", {}, `Figures: ${study}`),
      h("p", { class: "small muted" }, "Filled: what the cells of these archives gave, median over the repeats. ",
        "Hollow or dashed: published values."),
      h("div", { class: "nine" }, ...cards.map((card) => card.element))), cards);
  });
}

/** Empty if no cell logged its accesses. */
export function accessesSection({ accesses, accesses_left_out: left_out }: Report): Card[] {
  if (accesses.length === 0 && left_out.length === 0) return [];
  const cards = accesses.map((chart, i) => chartCard(`access-${i}`, chart.title, () => `accesses-cell-${chart.at["cell"]}.csv`,
    () => draw(chart, []), { height: () => heightOf(chart) }));
  const parts = accesses.map((chart, i) => h("article", { class: "access" },
    h("h3", {}, `Cell ${chart.at["cell"]} `, badge(chart.kind), h("span", { class: "small muted settings" }, ` ${chart.at["label"]}`)),
    cards[i]?.element ?? ""));
  return [together(h("section", { class: "accesses", id: "accesses", "aria-label": "Accesses to KV blocks" },
    h("h2", {}, "Accesses to KV blocks"), ...parts,
    left_out.length > 0 && h("p", { class: "small warn" }, `Not drawn here: ${left_out.join("; ")}.`)), cards)];
}
