// Tables that the program made (analysis/report/tables.cpp): texts in rows.
import type { CsvColumn } from "@/shared/csv";
import { h, type Child } from "@/shared/dom";

import { check, gpuSelect, select } from "./controls";
import { rateText, type Report } from "./data";
import { badge, bar, dataTable, isNarrow, live, section, type Cell } from "./elements";
import type { Store } from "./state";

export interface Table {
  part: string;
  heading: string;
  kind: string;
  columns: string[];
  numbers: boolean[];
  rows: string[][];
  notes: string[];
  /** Where the numbers of each row come from; empty if the table does not say. */
  sources: string[];
}

const MANY_ROWS = 40; // of a table that is collapsed
const LONG_TEXT = 24;

function cellOf(table: Table, row: number, at: number): Cell {
  const shown = table.rows[row]?.[at] ?? "", is_number = table.numbers[at] ?? false;
  return {
    content: [table.columns[at] === "verdict" ? h("span", { class: `verdict ${shown}` }, shown) : shown],
    title: table.sources[row] ?? "", is_head: at === 0 && !is_number,
    class: [is_number && "n", !is_number && shown.length > LONG_TEXT && "wrap", (shown === "" || shown === "-") && "none"].filter(Boolean).join(" "),
  };
}

export const tableOf = (table: Table): HTMLElement => dataTable(
  table.heading, table.columns.map((name, i) => ({ name, is_number: table.numbers[i] ?? false })),
  table.rows.map((row, i) => row.map((_, at) => cellOf(table, i, at))));

/** The rows of all tables below each other, with their kinds. */
export function csvOfTables(tables: Table[]): CsvColumn[] {
  const [first] = tables;
  if (!first) return [];
  const rows = tables.flatMap((table) => table.rows.map((row, i) => ({ table, row, i })));
  const own = first.columns.map((name, at) => ({ name, values: rows.map(({ row }) => row[at]) }));
  const more = { table: (r: (typeof rows)[number]) => r.table.heading, figures: (r: (typeof rows)[number]) => r.table.kind, cells: (r: (typeof rows)[number]) => r.table.sources[r.i] };
  return [...own, ...Object.entries(more).filter(([name]) => !first.columns.includes(name)).map(([name, of]) => ({ name, values: rows.map(of) }))];
}

export const ofPart = ({ tables }: Report, part: string): Table[] => tables.filter((table) => table.part === part);

/** Large tables are collapsed to a line. */
function folded(table: Table, line: Child, is_open: boolean): HTMLElement {
  return h("details", { class: "fold claim-set", open: is_open }, h("summary", {}, line), tableOf(table));
}

/** By kind and set; a set starts collapsed on narrow screens, where it is many screens long. */
export function claimsSection(store: Store): HTMLElement {
  const tables = ofPart(store.report, "claims"), is_narrow = isNarrow();
  const shown = () => tables.filter(({ kind }) => store.state.all_claims || kind !== "without results");
  return section("claims", "Published claims",
    h("p", { class: "small muted" }, "Off by: how far the cells are from what the text says, by the limit that they miss; what is furthest comes first."),
    bar("claims.csv", () => csvOfTables(tables), check(store, "also those that these archives cannot judge", "all_claims")),
    live(store, () => (shown().length === 0 ? [h("p", { class: "muted" }, "No claim concerns these cells.")]
      : [...new Set(shown().map(({ kind }) => kind))].map((kind) => h("article", {}, h("h3", {}, badge(kind === "without results" ? "" : kind)),
        ...shown().filter((table) => table.kind === kind).map((table) => folded(table, table.heading, !is_narrow)))))),
    h("p", { class: "small muted" }, store.report.claim_sources.join("; ")));
}

export function missingSection(report: Report): HTMLElement {
  const tables = ofPart(report, "missing"), count = tables.reduce((sum, { rows }) => sum + rows.length, 0);
  const line = ({ heading, rows }: Table) => `${heading}: ${rows.length} cell${rows.length === 1 ? "" : "s"}`;
  return section("missing", "Cells without results", ...(count === 0 ? [h("p", {}, tables[0]?.notes[0])]
    : [bar("missing.csv", () => csvOfTables(tables)),
      ...tables.map((table) => (count > MANY_ROWS ? folded(table, line(table), false) : h("article", {}, h("h3", {}, table.heading), tableOf(table))))]));
}

/** What policies did at one rate: a result is a policy's only if its mechanism acted. */
export function actsSection(store: Store): HTMLElement {
  const rates = () => store.panel.rates.map((value) => ({ value, text: rateText(value) }));
  const table = () => store.panel.acts[store.panel.rates.indexOf(store.cellRate)];
  return section("acts", "What the policies did",
    h("p", { class: "muted" },
      "A result is a policy's only if its mechanism acted. Means over the repeats. Pool pinned: the share of it that pins hold; unread: " +
      "what host memory lost before anything read it."),
    h("div", { class: "controls still" }, gpuSelect(store, "GPU of what policies did"),
      select(store, "arrival rate", rates, () => store.cellRate, (rate) => store.set({ rate }), "arrival rate of what policies did")),
    bar("acts.csv", () => csvOfTables(store.panel.acts)),
    live(store, () => {
      const shown = table();
      return shown ? [h("h3", {}, `${shown.heading} `, badge(shown.kind)), tableOf(shown)] : [];
    }));
}
