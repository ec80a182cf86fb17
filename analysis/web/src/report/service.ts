// How jobs are served: percentiles of latencies, goodput under objectives, and what is reached at which throughput.
import type { CsvColumn } from "@/shared/csv";
import { h } from "@/shared/dom";
import { even, percent } from "@/shared/format";

import type { Card } from "./card";
import { gpuSelect, policyToggles, select } from "./controls";
import { groupOf, rateText, type Group, type Maybe, type Panel } from "./data";
import {
  badge, bar, dataTable, interval, live, number, numbers, rowHead, section, texts, type Cell,
} from "./elements";
import { MANY_PANELS } from "./folds";
import { panelCard } from "./panel";
import { column, table } from "@/charts/parts";
import type { Store } from "./state";

const LATENCIES = ["jct", "ttft", "tpot", "queue"] as const;
const PERCENTS = [50, 90, 99] as const;
const KEEPS = 0.9; // share of the turns that must meet the objectives at a rate

type Latency = (typeof LATENCIES)[number];

const NAMES: Record<Latency, string> = {
  jct: "JCT", ttft: "TTFT", tpot: "TPOT", queue: "queue",
};

const shownGroups = (store: Store, panel = store.panel): Group[] =>
  panel.groups.filter(({ variant }) => !store.state.hidden.has(variant));

// --- percentiles and goodput ----------------------------------------------------------------------

const of = (group: Group, latency: Latency, at: number): Maybe => group.service[latency][at]?.[0] ?? null;

/** Milliseconds for times between tokens, seconds otherwise. */
function latencyCell(group: Group, latency: Latency): Cell {
  const scale = latency === "tpot" ? 1000 : 1;
  const values = PERCENTS.map((_, at) => of(group, latency, at));
  return number(values.map((each) => even(each === null ? null : each * scale, 3)).join(" / "));
}

/** The policy, and whether its jobs take least of all at this rate. */
function serviceHead({ variant, figures, p99, worse, from }: Group): Cell {
  const standing = figures["jct_wall_mean_s"]?.standing ?? "";
  const wins = /^(best|tie)/.test(standing);
  const mark = standing.startsWith("best") ? "★ " : "tie ";
  return {
    ...rowHead(wins && h("span", { class: "mark", title: standing }, mark), variant,
      wins && h("span", { class: "small muted tail" }, standing.replace(/^\w+/, "")),
      wins && worse !== "" && h("div", { class: "small warn tail" }, worse)),
    class: wins ? "best" : "", title: [from, p99].filter((each) => each !== "").join("; "),
  };
}

function serviceRow(group: Group): Cell[] {
  const { attained, goodput } = group.service;
  const note = (range: string) => range !== "" && h("div", { class: "small muted" }, range);
  const cells = [
    ...LATENCIES.map((each) => latencyCell(group, each)), number(percent(attained[0])),
    number(even(goodput[0], 3), note(interval(goodput[1], 3))),
  ];
  return [serviceHead(group), ...cells.map((cell) => ({ ...cell, title: group.from }))];
}

export function serviceCsv(panel: Panel, groups: Group[]): CsvColumn[] {
  return table(groups, {
    policy: (group) => group.variant,
    ...Object.fromEntries(LATENCIES.flatMap((latency) => PERCENTS.map((percentile, at) => [
      `${latency}_p${percentile}_s`, (group: Group) => of(group, latency, at),
    ]))),
    attained: (group) => group.service.attained[0],
    goodput_turns_per_s: (group) => group.service.goodput[0],
    cells: (group) => group.from, gpu: () => panel.gpu, settings: () => panel.settings,
    jps: (group) => group.jps, figures: () => panel.kind, repeats: (group) => group.repeats,
  });
}

/** Tables with the same columns below each other. */
const joined = ([first = [], ...rest]: CsvColumn[][]): CsvColumn[] =>
  first.map(({ name, values }, i) => column(name, [values, ...rest.map((each) => each[i]?.values ?? [])].flatMap((each) => Array.from(each))));

// --- the highest rate that keeps the objectives ---------------------------------------------------

/** The highest rate up to which, at every rate that ran, enough turns meet the objectives. */
export function highestRate(panel: Panel, variant: string): string {
  const rates = [...panel.rates].sort((a, b) => Number(a) - Number(b));
  let highest = "";
  for (const jps of rates) {
    const group = groupOf(panel, jps, variant);
    if (!group) continue;
    if ((group.service.attained[0] ?? 0) < KEEPS) break;
    highest = jps;
  }
  return highest;
}

/** All panels, or the chosen one of many. */
const panelsOf = (store: Store): Panel[] =>
  store.report.panels.length > MANY_PANELS ? [store.panel] : store.report.panels;

function rateTable(store: Store): HTMLElement {
  const shown = panelsOf(store), { hidden } = store.state;
  const variants = store.variants.filter((variant) =>
    !hidden.has(variant) && shown.some((panel) => panel.variants.includes(variant)));
  const cellOf = (panel: Panel, variant: string) => {
    const highest = highestRate(panel, variant);
    const none = panel.variants.includes(variant) ? "none" : "–";
    return number(highest === "" ? h("span", { class: "muted" }, none) : rateText(highest));
  };
  return dataTable("highest rate that keeps the objectives", [...texts("policy"), ...numbers(...shown.map(({ name }) => name))],
    variants.map((variant) => [rowHead(variant), ...shown.map((panel) => cellOf(panel, variant))]));
}

const TAILS = LATENCIES.flatMap((latency) => PERCENTS.map((each) => (
  { value: `${latency} ${each}`, text: `${NAMES[latency]} p${each}` })));

/** The table of the chosen card at the chosen rate; all of them are in the CSV. */
function latencyTable(store: Store): HTMLElement[] {
  const heads = LATENCIES.map((each) => `${NAMES[each]} [${each === "tpot" ? "ms" : "s"}]`);
  const groups = shownGroups(store).filter(({ jps }) => jps === store.cellRate);
  return [
    h("h3", {}, `${store.panel.name}, ${rateText(store.cellRate)} `, badge(store.panel.kind)),
    dataTable(`latencies and goodput: ${store.panel.name}, ${rateText(store.cellRate)}`,
      [...texts("policy"), ...numbers(...heads, "in time", "goodput [1/s]")], groups.map(serviceRow)),
  ];
}

export function serviceSection(store: Store): Card {
  const { goals } = store.report;
  const front = panelCard(store, "front", "Throughput against latency", {
    height: () => 220,
    controls: [select(store, "latency", () => TAILS, () => store.state.tail, (tail) => store.set({ tail }))],
  });
  const rates = () => store.panel.rates.map((value) => ({ value, text: rateText(value) }));
  const element = section("service", "Latency, throughput and goodput",
    h("p", { class: "small muted" },
      "Percentiles 50 / 90 / 99 of jobs (JCT) and turns, means over the repeats; ★: least mean JCT. " +
      `In time: the share of turns with ${goals}; goodput: such turns per second (--slo sets other objectives). ` +
      "Queue counts every wait of a turn, also behind the first token."),
    h("div", { class: "controls still" },
      gpuSelect(store, "GPU of latencies"),
      select(store, "arrival rate", rates, () => store.cellRate, (rate) => store.set({ rate }),
        "arrival rate of latencies"),
      policyToggles(store)),
    bar("service.csv", () => joined(panelsOf(store).map((panel) => serviceCsv(panel, shownGroups(store, panel))))),
    live(store, () => latencyTable(store)),
    h("div", { class: "two" },
      front.element,
      h("div", {}, h("h3", {}, `The highest rate at which, as at all lower ones, ${KEEPS * 100} % of the turns are in time`),
        live(store, () => [rateTable(store)]))));
  return { element, refresh: () => front.refresh() };
}
