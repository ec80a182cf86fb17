// Published claims and their verdicts on these archives.
import type { CsvColumn } from "@/shared/csv";
import { h, type Child } from "@/shared/dom";
import { num } from "@/shared/format";

import { check } from "./controls";
import type { ClaimRow, Report } from "./data";
import {
  bar, byKind, dataTable, interval, isNarrow, live, number, numbers, rowHead, section, texts, type Cell,
} from "./elements";
import { table } from "./parts";
import type { Store } from "./state";

function limits({ low, high }: ClaimRow): string {
  if (low === null) return high === null ? "" : `≤ ${num(high)}`;
  if (high === null) return `≥ ${num(low)}`;
  return low === high ? num(low) : `${num(low)} … ${num(high)}`;
}

// Explanations of metrics with names that are not self-explanatory.
const METRICS: Record<string, string> = {
  "steps_beyond_output:min":
    "steps of a turn less its generated tokens, the least of all turns; 0 where the step that " +
    "ends the prompt gives the first token",
  "new_tok:min": "prompt tokens that a turn had to compute, the least of all turns",
};

function metricText({ metric, is_ratio }: ClaimRow): Child[] {
  const meaning = METRICS[metric];
  return [
    is_ratio ? "compares ratios of " : "compares ", h("code", {}, metric),
    meaning && `: ${meaning}`,
  ];
}

const nameOf = ({ set, id }: ClaimRow): string => `${set} ${id}`;

/** The claim with its text: rows of one claim are not next to each other. */
const claimHead = (row: ClaimRow): Cell => ({
  ...rowHead(row.id, row.at !== "" && h("span", { class: "muted says" }, ` at ${row.at}`),
    h("div", { class: "small says" }, row.says, h("span", { class: "muted" }, " (", ...metricText(row), ")"))),
  class: "wrap", title: row.source,
});

/** "+12 %": by how much the cells miss what the text says. */
const distanceText = ({ distance }: ClaimRow): string =>
  distance === null ? "" : distance === 0 ? "0" : `${distance > 0 ? "+" : ""}${num(100 * distance, 3)} %`;

/** What is furthest from its text first; what has no number last. */
export const byDistance = (rows: ClaimRow[]): ClaimRow[] =>
  [...rows].sort((a, b) => Math.abs(b.distance ?? 0) - Math.abs(a.distance ?? 0) ||
    Number(a.distance === null) - Number(b.distance === null));

const maybe = (value: string): Cell =>
  value === "" ? { ...number("–"), class: "n none" } : number(value);

function claimCells(row: ClaimRow): Cell[] {
  const small = (words: string) => h("div", { class: "small muted" }, words);
  const reason = row.reason !== "" && small(row.reason);
  const direction = row.direction !== "" && row.direction !== row.verdict &&
    small(`direction: ${row.direction}`);
  return [
    claimHead(row),
    {
      class: "wrap",
      content: [h("span", { class: `verdict ${row.verdict}` }, row.verdict), direction, reason],
    },
    maybe(distanceText(row)),
    { ...number(num(row.ours), h("div", { class: "small muted from" }, row.from)), title: row.from },
    maybe(interval(row.interval)), number(num(row.published)), maybe(limits(row)), number(row.repeats),
  ];
}

function claimsTable(set: string, rows: ClaimRow[]): HTMLElement {
  const columns = [
    ...texts("claim", "verdict"),
    ...numbers("off by", "ours", "95 %", "published", "claimed", "repeats"),
  ];
  return dataTable(`claims of ${set}`, columns, byDistance(rows).map(claimCells));
}

/** A set can be collapsed. It starts collapsed on narrow screens, where it is many screens long. */
function claimSets(rows: ClaimRow[]): HTMLElement {
  const sets = [...new Set(rows.map((row) => row.set))];
  const is_narrow = isNarrow();
  return h("div", {}, ...sets.map((set) => {
    const own = rows.filter((row) => row.set === set);
    return h("details", { class: "claim-set", open: !is_narrow || sets.length * own.length === 1 },
      h("summary", {}, h("b", {}, set), `: ${verdicts(own)} (${checks(own)})`), claimsTable(set, own));
  }));
}

/** "87 checks of 29 claims, on this model": what the verdicts count, and what they say something about. */
function checks(rows: ClaimRow[]): string {
  const claims = new Set(rows.map((row) => row.id)).size;
  const kind = rows[0]?.kind ?? "";
  const scope = kind.startsWith("MODELLED") ? ", on this model" : kind.startsWith("MEASURED") ? ", on this engine" : "";
  const number = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
  return `${number(rows.length, "check")} of ${number(claims, "claim")}${scope}`;
}

/** "41 undecided, 5 reproduced", most first. */
export function verdicts(rows: ClaimRow[]): string {
  const counts = new Map<string, number>();
  for (const { verdict } of rows) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  const ordered = [...counts].sort((a, b) => b[1] - a[1]);
  return ordered.map(([verdict, count]) => `${count} ${verdict}`).join(", ");
}

/** The claims that their source's own numbers contradict: "A, B". */
export function refuted(rows: ClaimRow[]): string {
  const names = rows.filter(({ verdict }) => verdict === "refuted").map(nameOf);
  return [...new Set(names)].join(", ");
}

function claimsCsv(report: Report): CsvColumn[] {
  return table(report.claims, {
    set: (r) => r.set, id: (r) => r.id, at: (r) => r.at, verdict: (r) => r.verdict, direction: (r) => r.direction,
    figures: (r) => r.kind, ours: (r) => r.ours, low95: (r) => r.interval?.[0],
    high95: (r) => r.interval?.[1], published: (r) => r.published, claimed_low: (r) => r.low,
    claimed_high: (r) => r.high, distance: (r) => r.distance, cells: (r) => r.from, repeats: (r) => r.repeats, reason: (r) => r.reason,
    metric: (r) => r.metric, says: (r) => r.says, source: (r) => r.source,
  });
}

export function claimsSection(store: Store): HTMLElement {
  const { claims } = store.report;
  const tables = () => {
    const rows = claims.filter((row) => store.state.all_claims || row.kind !== "");
    if (rows.length === 0) return [h("p", { class: "muted" }, "No claim concerns these cells.")];
    return [
      h("p", {}, `${verdicts(rows)}.`,
        refuted(rows) !== "" && ` Refuted by the source's own numbers: ${refuted(rows)}.`),
      ...byKind(rows, (row) => row.kind, claimSets),
    ];
  };
  return section("claims", "Published claims",
    h("p", { class: "small muted" }, "Off by: how far the cells are from what the text says, by the limit that they miss; what is furthest comes first."),
    bar("claims.csv", () => claimsCsv(store.report),
      check(store, "also those that these archives cannot judge", "all_claims")),
    live(store, tables),
    h("p", { class: "small muted" }, store.report.claim_sources.join("; ")));
}
