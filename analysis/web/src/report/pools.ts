// Common parts of the charts of one panel: the chosen policies and the kind of their numbers.
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

/** The published figure that a chart corresponds to, if this GPU has published values. */
export function asPublished(store: Store, letter: string, when = ""): string {
  const known = store.panel.sources.length > 0;
  return known ? ` It is figure ${letter} of the published matrix${when}.` : "";
}

/** "MODELLED (sim), 10 jobs/s, 3 repeats": the note on the numbers of every chart. */
export function about(store: Store, list: { repeats: number }[]): string {
  return `${store.panel.kind}, ${rateText(store.state.rate)}, ${repeatsOf(list)}`;
}

/** A row of a CSV with its policy. */
export interface Row {
  of: { variant: string; repeats: number };
  values: (number | string | null)[];
}

/** Rows of several policies as one table, with the policy in each row. */
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

export function dotKeys(store: Store, variants: string[]): Key[] {
  return variants.map((variant) => {
    const { color, symbol } = looks(store.variants, variant);
    return { name: variant, color, dot: symbol };
  });
}

/** A line of a variant, in its color and dash. */
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
