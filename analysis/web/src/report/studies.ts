import { csvButton } from "@/shared/csv";
import { h } from "@/shared/dom";
import { num } from "@/shared/format";

import { chartCard, type Card } from "./card";
import type { Report } from "./data";
import {
  figuresOf, footOf, isExternal, ours, places, theirs, type StudyChart, type StudyPanel, type StudySeries,
} from "./studies_data";
import { csvOf, drawStudy } from "./studies_draw";

const PIXELS = { cells: 300, forwards: 300, time: 300, requests: 210 };

/** Columns that a card of a third of the page has room for. */
const NARROW = 3;

const nameOf = (chart: StudyChart, panel: StudyPanel): string =>
  `${chart.figure}: ${chart.title}${panel.name === "" ? "" : `, ${panel.name}`}`;

const fileOf = (chart: StudyChart, panel: StudyPanel): string =>
  `${chart.study}-${chart.figure}-${panel.name}-${chart.gpu}.csv`.replace(/[^\w.-]+/g, "_");

const kindOf = (chart: StudyChart): string => chart.kind + (chart.gpu === "" ? "" : `, ${chart.gpu}`);

function cellOf(chart: StudyChart, series: StudySeries, x: string): HTMLElement {
  const own = ours(series, x);
  const other = theirs(series, x);
  const published = other !== null
    && h("div", { class: "small published", title: chart.source }, `pub. ${num(other, 5)}`);
  return h("td", { class: "n" }, own ? num(own[1], 5) : "–", published);
}

function tableCard(chart: StudyChart, panel: StudyPanel): HTMLElement {
  const xs = places(panel);
  const name = nameOf(chart, panel);
  const head = h("tr", {}, h("th", { scope: "col" }, chart.x_name),
    ...xs.map((x) => h("th", { scope: "col", class: "n" }, x)));
  const rowOf = (series: StudySeries): HTMLElement =>
    h("tr", {}, h("th", { scope: "row", title: figuresOf(chart, series) }, series.name),
      ...xs.map((x) => cellOf(chart, series, x)));
  const bodies = [false, true].map((external) => {
    const rows = panel.series.filter((series) => isExternal(series) === external);
    return rows.length > 0 && h("tbody", { class: external && "external" }, ...rows.map(rowOf));
  });
  const tools = h("span", { class: "tools" }, csvButton(fileOf(chart, panel), () => csvOf(chart, panel)));
  return h("article", { class: `card study-table${xs.length > NARROW ? " wide" : ""}` },
    h("header", {}, h("h3", {}, name), tools),
    h("p", { class: "small" }, `${kindOf(chart)}; ${chart.y_name}`),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name },
      h("table", {}, h("thead", {}, head), ...bodies)),
    h("p", { class: "small muted" }, footOf(chart)));
}

/** One card for each panel of a figure: a chart, or a table where the figure is one. */
function cardOf(chart: StudyChart, panel: StudyPanel, id: string): Card {
  if (chart.draw === "table") {
    return { element: tableCard(chart, panel), refresh: () => undefined };
  }
  const card = chartCard(id, nameOf(chart, panel), () => fileOf(chart, panel),
    () => drawStudy(chart, panel), { height: () => PIXELS[chart.over] });
  card.element.querySelector("h3")?.after(h("span", { class: "small muted" }, kindOf(chart)));
  return card;
}

function studySection(study: string, charts: StudyChart[]): Card {
  const cards = charts.flatMap((chart, at) =>
    chart.panels.map((panel, k) => cardOf(chart, panel, `study-${study}-${at}-${k}`)));
  const element = h("section", { class: "study", id: `figures-${study}`, "aria-label": `Figures of ${study}` },
    h("h2", {}, `Figures: ${study}`),
    h("p", { class: "small muted" }, "Filled: what the cells of these archives gave, median over the repeats. ",
      "Hollow or dashed: published values. EXTERNAL: results of other programs."),
    h("div", { class: "nine" }, ...cards.map((card) => card.element)));
  return { element, refresh: () => cards.forEach((card) => card.refresh()) };
}

/** The studies' figures, drawn from these archives beside published values. */
export function studiesSection(report: Report): Card[] {
  const charts = report.studies;
  const studies = [...new Set(charts.map((chart) => chart.study))];
  return studies.map((study) => studySection(study, charts.filter((chart) => chart.study === study)));
}
