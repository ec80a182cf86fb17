// Published claims and their verdicts on these archives.
import type { CsvColumn } from "@/shared/csv";
import { h, type Child } from "@/shared/dom";
import { num } from "@/shared/format";

import { check } from "./controls";
import type { ClaimRow, Report } from "./data";
import {
  bar, byKind, dataTable, interval, isNarrow, live, number, numbers, rowHead, section, text, texts, type Cell,
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

/** The text of the claim, shown once, above its first point. */
function claimHead(row: ClaimRow, is_first: boolean): Cell {
  if (!is_first) {
    return { ...rowHead(h("span", { class: "muted small" }, nameOf(row))), class: "wrap" };
  }
  return {
    ...rowHead(nameOf(row), h("div", { class: "small says" }, row.says),
      h("div", { class: "small muted says" }, ...metricText(row))),
    class: "wrap", title: row.source,
  };
}

const maybe = (value: string): Cell =>
  value === "" ? { ...number("–"), class: "n none" } : number(value);

function claimCells(row: ClaimRow, before: ClaimRow | undefined): Cell[] {
  const is_first = before === undefined || nameOf(before) !== nameOf(row);
  const small = (words: string) => h("div", { class: "small muted" }, words);
  const reason = row.reason !== "" && small(row.reason);
  const direction = row.direction !== "" && row.direction !== row.verdict &&
    small(`direction: ${row.direction}`);
  return [
    claimHead(row, is_first), row.at === "" ? { ...text("–"), class: "none" } : text(row.at),
    {
      class: "wrap",
      content: [h("span", { class: `verdict ${row.verdict}` }, row.verdict), direction, reason],
    },
    number(num(row.ours)), maybe(interval(row.interval)), number(num(row.published)),
    maybe(limits(row)), number(row.repeats),
  ];
}

function claimsTable(set: string, rows: ClaimRow[]): HTMLElement {
  const columns = [
    ...texts("claim", "at", "verdict"),
    ...numbers("ours", "95 %", "published", "claimed", "repeats"),
  ];
  return dataTable(`claims of ${set}`, columns, rows.map((row, i) => claimCells(row, rows[i - 1])));
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
    claimed_high: (r) => r.high, repeats: (r) => r.repeats, reason: (r) => r.reason,
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
    bar("claims.csv", () => claimsCsv(store.report),
      check(store, "also those that these archives cannot judge", "all_claims")),
    live(store, tables),
    h("p", { class: "small muted" }, store.report.claim_sources.join("; ")));
}
