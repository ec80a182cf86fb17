import { append, h, type Child } from "@/shared/dom";
import { num } from "@/shared/format";

const SHOWN = 50; // rows shown until the reader asks for all

/**
 * A table that scrolls, with a row for each item; the last `numbers` columns are aligned as numbers. Rows beyond the
 * first ones are made when they are asked for: a step may have thousands.
 */
export function list<Item>(caption: string, heads: string[], numbers: number, items: Item[], cellsOf: (item: Item) => Child[]): HTMLElement {
  const side = (i: number) => ({ class: i >= heads.length - numbers ? "n" : "" });
  const row = (item: Item) => h("tr", {}, ...cellsOf(item).map((child, i) => h("td", side(i), child)));
  const body = h("tbody", {}, ...items.slice(0, SHOWN).map(row));
  const more = h("button", { type: "button", class: "more" }, `Show all ${num(items.length)}`);
  more.addEventListener("click", () => {
    append(body, items.slice(SHOWN).map(row));
    more.remove();
  });
  return h("div", { class: "scroll list", tabindex: 0, role: "region", "aria-label": caption },
    h("table", {}, h("thead", {}, h("tr", {}, ...heads.map((head, i) => h("th", side(i), head)))), body),
    items.length > SHOWN && more);
}
