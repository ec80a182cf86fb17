// One figure by arrival rate and policy, a table for each GPU.
import { csvButton, type CsvColumn } from "@/shared/csv";
import { h } from "@/shared/dom";
import { even, num } from "@/shared/format";

import { metricSelect } from "./controls";
import { deviceOf, groupOf, panelName, repeatsText, type Figure, type Panel } from "./data";
import {
  badge, dataTable, interval, live, number, numbers, panelTitle, rowHead, safeName, section, texts,
  type Cell,
} from "./elements";
import { designFolds, MANY_PANELS, shortened } from "./folds";
import { table } from "@/charts/parts";
import type { Store } from "./state";

/** A star for the best, and a word for those that tie with it or are not told from it. */
function mark({ standing }: Figure): HTMLElement | null {
  if (standing === "") return null;
  const words = standing.startsWith("best") ? "★ " : `${standing.split(" ")[0]} `;
  return h("span", { class: "mark", title: standing }, words);
}

function summaryCell(panel: Panel, jps: string, variant: string, metric: string): Cell {
  const group = groupOf(panel, jps, variant);
  const figure = group?.figures[metric];
  if (!group || !figure) return number(h("span", { class: "muted" }, "–"));
  const ratio = figure.ratio === null ? "" : `${figure.ratio.toFixed(2)}× fcfs, `;
  const note = (look: string, title: string, ...content: string[]) =>
    h("div", { class: `small ${look}`, title }, ...content);
  const range = figure.interval &&
    note("muted", "95 % over the repeats", interval(figure.interval));
  const wins = /^(best|tie)/.test(figure.standing);
  const published = figure.published !== null &&
    note("published", "published value", `pub. ${num(figure.published)}`);
  return {
    class: `n ${figure.standing.split(" ")[0] ?? ""}`, title: group.from,
    content: [
      h("div", { class: `value${wins ? " won" : ""}` }, mark(figure), even(figure.mean)),
      note("muted", `ratio to fcfs; ${repeatsText(group.repeats)}`, `${ratio}n=${group.repeats}`),
      range, published,
      wins && group.p99 !== "" && note("muted tail", group.from, group.p99),
      wins && group.worse !== "" && note("warn tail", "more than 1.3 times fcfs's", group.worse),
    ],
  };
}

function summaryCsv(panel: Panel, metric: string): CsvColumn[] {
  const rows = panel.groups.flatMap((group) => {
    const figure = group.figures[metric];
    return figure ? [{ group, figure }] : [];
  });
  return table(rows, {
    gpu: () => panel.gpu, figures: () => panel.kind, settings: () => panel.settings,
    jps: ({ group }) => group.jps, policy: ({ group }) => group.variant, metric: () => metric,
    unit: ({ figure }) => figure.unit, mean: ({ figure }) => figure.mean,
    low95: ({ figure }) => figure.interval?.[0], high95: ({ figure }) => figure.interval?.[1],
    ratio_to_fcfs: ({ figure }) => figure.ratio, published: ({ figure }) => figure.published,
    standing: ({ figure }) => figure.standing, repeats: ({ group }) => group.repeats,
    cells: ({ group }) => group.from,
  });
}

function summaryTable(panel: Panel, metric: string): HTMLElement {
  const figures = panel.groups.flatMap((group) => group.figures[metric] ?? []);
  const device = deviceOf(panel);
  const unit = figures[0]?.unit ?? "";
  const file = safeName(`${panel.gpu}-${metric}.csv`);
  const rows = panel.rates.map((jps) => [
    rowHead(jps), ...panel.variants.map((variant) => summaryCell(panel, jps, variant, metric)),
  ]);
  const name = `${metric}${unit === "" ? "" : ` [${unit}]`}`;
  const sources = panel.sources.map((source) => `; pub.: ${source}`);
  return h("article", { class: "summary" },
    h("h3", {}, ...panelTitle(panel), " ", badge(panel.kind),
      csvButton(file, () => summaryCsv(panel, metric))),
    device !== "" && h("p", { class: "small muted" }, `Ran on ${device}`),
    dataTable(`${panelName(panel)}: ${metric}`,
      [...texts("jobs/s"), ...numbers(...panel.variants)], rows),
    h("p", { class: "small muted" }, `${name}; n: repeats`, ...sources),
    ...panel.remarks.map((remark) => h("p", { class: "small warn" }, remark)));
}

export function summarySection(store: Store): HTMLElement {
  const { panels } = store.report;
  const tables = (of: Panel[]) => h("div", { class: "summaries" },
    ...of.map((panel) => summaryTable(panel, store.state.metric)));
  const all = panels.length > MANY_PANELS
    ? designFolds(store, store.report, "table", (own) => own.length, (design) =>
      [tables(design.panels.map((panel) => shortened(panel, design)))])
    : [live(store, () => [tables(panels)])];
  return section("summary", "Summary: arrival rate by policy, for each GPU",
    h("p", { class: "small muted" },
      "★ best at its rate, with its host memory; tie: less than 1 % from the best; undecided: the " +
      "repeats do not tell it from the best (Holm's rule, 5 %). 95 %: Student's t over the seeds, " +
      "unadjusted, from three on."),
    metricSelect(store), ...all);
}
