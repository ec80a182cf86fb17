// What the charts of one panel have in common: the chosen policies, and what their numbers are.
import type { CsvColumn } from "@/shared/csv";

import { poolOf, rateText, repeatsOf, type Pool } from "./data";
import { looks, sourced, table, type Key } from "./parts";
import type { Store } from "./state";

/** Visible variants with numbers at the chosen rate. */
export function poolsOf(store: Store): Pool[] {
  return store.visible.flatMap(
    (variant) => poolOf(store.panel, store.state.rate, variant) ?? [],
  );
}

/** Which of the published figures a chart repeats, where this GPU's published values are known. */
export function asPublished(store: Store, letter: string, when = ""): string {
  const known = store.panel.sources.length > 0;
  return known ? ` It is figure ${letter} of the published matrix${when}.` : "";
}

/** "MODELLED (sim), 10 jobs/s, 3 repeats": what every chart says of its numbers. */
export function about(store: Store, list: { repeats: number }[]): string {
  return `${store.panel.kind}, ${rateText(store.state.rate)}, ${repeatsOf(list)}`;
}

/** A row of a CSV with the policy that it is of. */
export interface Row {
  of: { variant: string; repeats: number };
  values: (number | string | null)[];
}

/** Rows of several policies as one table, with whose they are. */
export function long(store: Store, names: string[], rows: Row[], jps?: string[]): CsvColumn[] {
  const columns = table(rows, {
    policy: (row) => row.of.variant,
    ...Object.fromEntries(names.map((name, i) => [name, (row: Row) => row.values[i] ?? null])),
  });
  return sourced(store.panel, columns, (i) => jps?.[i] ?? store.state.rate,
    (i) => rows[i]?.of.repeats ?? 0);
}

export function lineKeys(store: Store, variants: string[]): Key[] {
  return variants.map((variant) => {
    const { color, type } = looks(store.variants, variant);
    return { name: variant, color, dash: type };
  });
}

/** A line of a variant, in its colour and dash. */
export function lineSeries(
  store: Store, variant: string, data: unknown[], symbols = false,
): object {
  const look = looks(store.variants, variant);
  return {
    type: "line",
    name: variant,
    data,
    color: look.color,
    lineStyle: { width: 1.8, type: look.type },
    symbol: symbols ? "circle" : "none",
    symbolSize: 5,
    connectNulls: false,
  };
}
