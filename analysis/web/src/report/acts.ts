// What policies did at one rate: a result is a policy's only if its mechanism acted.
import { h } from "@/shared/dom";
import { num, percent } from "@/shared/format";

import type { CsvColumn } from "@/shared/csv";
import { ALL, groupOf, rateText, type Acts, type Group, type Panel } from "./data";
import { badge, bar, dataTable, live, number, numbers, rowHead, section, texts, type Cell } from "./elements";
import { gpuSelect, select } from "./controls";
import { brief, sourced, table } from "./parts";
import type { Store } from "./state";

interface Act {
  name: string;
  /** What it counts, for a tooltip. */
  title: string;
  text: (acts: Acts, group: Group) => string;
}

const ACTS: Act[] = [
  { name: "inversions", title: "share of the turns admitted before one that had arrived earlier", text: (a) => percent(a.overtaking) },
  { name: "pins", title: "times that a finished turn's KV was pinned (first repeat)", text: (a) => num(a.pins) },
  { name: "pins used", title: "pins during which the job's next turn arrived (first repeat)", text: (a) => num(a.pins_used) },
  { name: "pool pinned", title: "share of the KV pool that pins hold, over time", text: (a) => percent(a.pinned) },
  { name: "found on GPU", title: "share of the prompt tokens", text: (a) => percent(a.gpu_hits) },
  { name: "found on host", title: "share of the prompt tokens", text: (a) => percent(a.host_hits) },
  { name: "recomputed", title: "tokens whose KV had been lost", text: (a) => brief(a.recomputed_tok ?? NaN) },
  { name: "blocks evicted", title: "from the GPU's pool (first repeat)", text: (a) => num(a.evicted_blocks) },
  { name: "unread", title: "blocks evicted from host memory before anything read them (first repeat)", text: (a) => num(a.host_evicted_blocks) },
  { name: "prefetches", title: "loads begun before the turn arrived (first repeat)", text: (a) => num(a.prefetches) },
  { name: "preemptions", title: "of running requests", text: (a) => num(a.preemptions) },
  { name: "stalled", title: "share of the time in which the batch waited for copies", text: (a) => percent(a.stalled) },
];

const rateOf = (store: Store): string => (store.state.rate === ALL ? store.cellRate : store.state.rate);

const groupsOf = (panel: Panel, jps: string): Group[] =>
  panel.variants.flatMap((variant) => groupOf(panel, jps, variant) ?? []);

/** What is 0 or absent under every policy says nothing. */
const matter = (groups: Group[]): Act[] =>
  ACTS.filter(({ text }) => groups.some((group) => !["0", "–", "0.00 %", "0.0 %"].includes(text(group.acts, group))));

export function actsCsv(panel: Panel, groups: Group[]): CsvColumn[] {
  const names = Object.keys(groups[0]?.acts ?? {}) as (keyof Acts)[];
  const columns = table(groups, {
    policy: (group) => group.variant,
    ...Object.fromEntries(names.map((name) => [name, (group: Group) => group.acts[name]])),
  });
  return sourced(panel, columns, (i) => groups[i]?.jps ?? "", (i) => groups[i]?.repeats ?? 0);
}

function actsTable(panel: Panel, jps: string): HTMLElement {
  const groups = groupsOf(panel, jps), acts = matter(groups);
  const rows = groups.map((group): Cell[] => [
    { ...rowHead(group.variant), title: group.from },
    ...acts.map(({ title, text }) => ({ ...number(text(group.acts, group)), title: `${title}; ${group.from}` })),
  ]);
  return dataTable("what the policies did", [...texts("policy"), ...numbers(...acts.map(({ name }) => name))], rows);
}

export function actsSection(store: Store): HTMLElement {
  const rates = () => store.panel.rates.map((value) => ({ value, text: rateText(value) }));
  return section("acts", "What the policies did",
    h("p", { class: "muted" },
      "A result is a policy's only if its mechanism acted. Pins, evictions and prefetches are those of the first " +
      "repeat, the rest are means."),
    h("div", { class: "controls still" },
      gpuSelect(store, "GPU of what policies did"),
      select(store, "arrival rate", rates, () => rateOf(store), (rate) => store.set({ rate }),
        "arrival rate of what policies did")),
    bar("acts.csv", () => actsCsv(store.panel, groupsOf(store.panel, rateOf(store)))),
    live(store, () => [
      h("h3", {}, `${store.panel.name}, ${rateText(rateOf(store))} `, badge(store.panel.kind)),
      actsTable(store.panel, rateOf(store)),
    ]));
}
