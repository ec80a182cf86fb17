// What tables and sections are made of.
import { csvButton, type CsvColumn } from "@/shared/csv";
import { h, replace, type Child } from "@/shared/dom";
import { num } from "@/shared/format";
import { onThemeChange } from "@/shared/theme";

import { isMeasured, type Interval, type Panel } from "./data";
import type { Store } from "./state";

/** "MODELLED" or "MEASURED", with the rest of the kind beside it. */
export function badge(kind: string): HTMLElement {
  if (kind === "") return h("span", { class: "muted" }, "no result");
  const [word, ...rest] = kind.split(" ");
  const look = isMeasured(kind) ? "measured" : "modelled";
  return h("span", { class: `badge ${look}`, title: kind },
    h("b", {}, word ?? ""), ` ${rest.join(" ")}`);
}

/** The card, and in smaller type the settings in which its panel differs from others. */
export function panelTitle({ gpu, settings }: Panel): Child[] {
  return [gpu, settings !== "" && h("span", { class: "small muted settings" }, ` ${settings}`)];
}

export const interval = (value: Interval, digits = 4): string =>
  value === null ? "" : `${num(value[0], digits)} … ${num(value[1], digits)}`;

/**
 * A cell of a table. On narrow screens, which show rows as lists, the head of its column precedes
 * it.
 */
export interface Cell {
  content: Child[];
  class?: string;
  title?: string;
  background?: string;
  /** Names its row. */
  is_head?: boolean;
}

export const text = (...content: Child[]): Cell => ({ content });
export const number = (...content: Child[]): Cell => ({ content, class: "n" });
export const rowHead = (...content: Child[]): Cell => ({ content, is_head: true });

export interface Column {
  name: string;
  is_number?: boolean;
}

export const texts = (...names: string[]): Column[] => names.map((name) => ({ name }));
export const numbers = (...names: string[]): Column[] =>
  names.map((name) => ({ name, is_number: true }));

function cellElement(cell: Cell, column: Column | undefined): HTMLElement {
  const attributes = {
    class: cell.class, title: cell.title, "data-label": column?.name,
    ...(cell.is_head ? { scope: "row", role: "rowheader" } : { role: "cell" }),
  };
  // One box for the content, so that on narrow screens it is beside its label as a whole.
  const content = h("div", { class: "content" }, ...cell.content);
  const element = h(cell.is_head ? "th" : "td", attributes, content);
  if (cell.background) element.style.background = cell.background;
  return element;
}

/**
 * A table that scrolls in its own box and is reachable by keyboard. Explicit roles keep it a table
 * when rows are shown as lists.
 */
export function dataTable(label: string, columns: Column[], rows: Cell[][]): HTMLElement {
  const heads = columns.map(({ name, is_number }) =>
    h("th", { scope: "col", role: "columnheader", class: is_number ? "n" : "" }, name),
  );
  const body = rows.map((row) =>
    h("tr", { role: "row" }, ...row.map((cell, i) => cellElement(cell, columns[i]))),
  );
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    h("table", { class: "stacks", role: "table", "aria-label": label },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ...heads)),
      h("tbody", { role: "rowgroup" }, ...body)));
}

export function section(id: string, title: string, ...children: Child[]): HTMLElement {
  return h("section", { class: "card block", id, "aria-label": title },
    h("h2", {}, title), ...children);
}

/** Rebuilds its content whenever the state or the theme changes. */
export function live(store: Store, build: () => Child[]): HTMLElement {
  const box = h("div", {});
  const fill = () => replace(box, ...build());
  store.onChange(fill);
  onThemeChange(fill);
  fill();
  return box;
}

/** A line of controls above a table, with its numbers as CSV. */
export function bar(file: string, csv: () => CsvColumn[], ...controls: Child[]): HTMLElement {
  return h("div", { class: "bar" }, ...controls, csvButton(file, csv));
}

export const safeName = (name: string): string => name.replace(/[^\w.-]+/g, "_");

/** Whether rows of tables are shown as lists: tables of many rows are then many screens long. */
export const isNarrow = (): boolean => window.matchMedia("(max-width: 600px)").matches;
