import { csvButton } from "@/shared/csv";
import { h } from "@/shared/dom";
import { num } from "@/shared/format";

import { chartCard, type Card } from "./card";
import type { Report } from "./data";
import { drawStudy } from "./studies_draw";
import { footOf, ours, places, theirs, type StudyChart, type StudyPanel } from "./studies_data";

const LINES = 300; // pixels of a chart with axes

const nameOf = (chart: StudyChart, panel: StudyPanel): string =>
  `${chart.figure}: ${chart.title}${panel.name === "" ? "" : `, ${panel.name}`}`;

const fileOf = (chart: StudyChart, panel: StudyPanel): string =>
  `${chart.study}-${chart.figure}-${panel.name}-${chart.gpu}.csv`.replace(/[^\w.-]+/g, "_");

const heading = (chart: StudyChart): string => chart.kind + (chart.gpu === "" ? "" : `, ${chart.gpu}`);

function cellOf(chart: StudyChart, panel: StudyPanel, row: number, x: string): HTMLElement {
  const series = panel.series[row];
  const own = series && ours(series, x);
  const other = series ? theirs(series, x) : null;
  return h("td", { class: "n" }, own ? num(own[1], 5) : "–", other === null ? null : h("div", { class: "small published", title: chart.source }, `pub. ${num(other, 5)}`));
}

function tableCard(chart: StudyChart, panel: StudyPanel): HTMLElement {
  const xs = places(panel);
  const csv = () => {
    const rows = panel.series.flatMap((series) => xs.map((x) => ({ series, x })));
    return [
      { name: "series", values: rows.map((row) => row.series.name) }, { name: chart.x_name, values: rows.map((row) => row.x) },
      { name: chart.y_name, values: rows.map((row) => ours(row.series, row.x)?.[1]) },
      { name: "published", values: rows.map((row) => theirs(row.series, row.x)) }, { name: "figures", values: rows.map(() => chart.kind) },
    ];
  };
  const name = nameOf(chart, panel);
  return h("article", { class: "card study-table" },
    h("header", {}, h("h3", {}, name), h("span", { class: "tools" }, csvButton(fileOf(chart, panel), csv))),
    h("p", { class: "small" }, `${heading(chart)}; ${chart.y_name}`),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, chart.x_name), ...xs.map((x) => h("th", { scope: "col", class: "n" }, x)))),
      h("tbody", {}, ...panel.series.map((series, row) =>
        h("tr", {}, h("th", { scope: "row" }, series.name), ...xs.map((x) => cellOf(chart, panel, row, x))))))),
    h("p", { class: "small muted" }, footOf(chart)));
}

/** One card for each panel of a figure: a chart, or a table where the figure is one. */
function cardOf(chart: StudyChart, panel: StudyPanel, at: number): Card {
  if (chart.draw === "table") return { element: tableCard(chart, panel), refresh: () => undefined };
  const id = `study-${chart.study}-${chart.figure}-${at}`.replace(/[^\w-]+/g, "_");
  const height = () => (chart.over === "requests" ? 210 : LINES);
  const card = chartCard(id, nameOf(chart, panel), () => fileOf(chart, panel), () => drawStudy(chart, panel), { height });
  card.element.querySelector("h3")?.after(h("span", { class: "small muted" }, heading(chart)));
  return card;
}

/** Figures that studies published, drawn from these archives beside what is published; nothing without such figures. */
export function studiesSection(report: Report & { studies?: StudyChart[] }): Card[] {
  const charts = report.studies ?? [];
  const studies = [...new Set(charts.map((chart) => chart.study))];
  return studies.map((study) => {
    const own = charts.filter((chart) => chart.study === study);
    const cards = own.flatMap((chart, at) => chart.panels.map((panel, k) => cardOf(chart, panel, 100 * at + k)));
    const element = h("section", { class: "study", "aria-label": `Figures of ${study}` },
      h("h2", {}, `Figures: ${study}`),
      h("p", { class: "small muted" }, "Filled: what the cells of these archives gave, median over the repeats. Hollow or dashed: published values."),
      h("div", { class: "nine" }, ...cards.map((card) => card.element)));
    return { element, refresh: () => cards.forEach((card) => card.refresh()) };
  });
}
