import "@/shared/theme.css";
import "./report.css";
import { pageData } from "@/shared/columns";
import { csvButton } from "@/shared/csv";
import { h, replace } from "@/shared/dom";
import { onThemeChange, startTheme, themeToggle } from "@/shared/theme";

import { KEYS, chartCard, type Card } from "./card";
import { jctChart, jctOverRateChart, hitsChart, partsChart, poolChart, queueChart, stepTimeChart, tokensChart, trafficChart, turnsChart } from "./charts";
import { gapChart, gapHeight } from "./compare";
import { controls, metricSelect, xSwitch } from "./controls";
import { repeatsText, type Report } from "./data";
import { latencySection } from "./latency";
import { Store } from "./state";
import { badge, claimsCsv, claimsTables, fitCsv, fitTables, missingCsv, missingTable, panelFileName, provenance, regimeCsv, regimeMaps, section, summaryTable } from "./tables";

function question(report: Report): HTMLElement {
  const kinds = [...new Set(report.panels.map((panel) => panel.kind))];
  const cells = report.archives.reduce((sum, archive) => sum + archive.cells, 0);
  const ok = report.archives.reduce((sum, archive) => sum + archive.ok, 0);
  return section("question", "Question and provenance",
    ...report.archives.map((archive) => h("p", { class: "question" }, archive.question === "" ? `Sweep ${archive.sweep}.` : archive.question)),
    h("p", {}, "Figures here are ", ...kinds.flatMap((kind, i) => [i > 0 ? ", " : "", badge(kind)]),
      ". MODELLED: computed by a cost model in virtual time. MEASURED: a model ran. Kinds never share a table or a chart."),
    h("p", { class: "muted" }, `${ok} of ${cells} planned cells have a result; ${new Set(report.panels.map((panel) => panel.gpu)).size} GPU(s), ` +
      `${repeatsText(Math.max(0, ...report.panels.flatMap((panel) => panel.groups.map((group) => group.repeats))))} at most; page made by kvsweep ${report.program}.`),
    ...provenance(report));
}

/** Rebuilds its content whenever the state or the theme changes. */
function live(store: Store, build: () => (HTMLElement | null)[]): HTMLElement {
  const box = h("div", {});
  const fill = () => replace(box, ...build());
  store.onChange(fill);
  onThemeChange(fill);
  fill();
  return box;
}

function summary(store: Store): HTMLElement {
  return section("summary", "Summary: arrival rate by policy, for each GPU", metricSelect(store),
    live(store, () => [h("div", { class: "summaries" }, ...store.report.panels.map((panel) => summaryTable(panel, store.state.metric)))]));
}

function chartCards(store: Store): { why: Card; nine: Card[]; gap: Card } {
  const file = (what: string) => () => panelFileName(store, what);
  const card = (id: string, title: string, draw: (store: Store) => ReturnType<typeof tokensChart>, extra = {}) =>
    chartCard(id, title, file(id), () => draw(store), extra);
  return {
    why: card("why", "Why a policy wins: where the time of a job goes", partsChart, { wide: true, height: () => 130 + 34 * store.visible.length }),
    nine: [
      card("tokens", "Forward tokens per step", tokensChart, { controls: [xSwitch(store)] }),
      card("step-time", "Step time over tokens", stepTimeChart, { controls: [xSwitch(store)] }),
      card("turns", "Turn duration by turn", turnsChart),
      card("jct", "Job completion times", jctChart),
      card("jct-rate", "Job completion time over arrival rate", jctOverRateChart),
      card("pool", "KV pool over time", poolChart),
      card("queue", "Queue over time", queueChart),
      card("hits", "Prompt tokens by where they came from", hitsChart),
      card("traffic", "Bytes moved and stalls", trafficChart),
    ],
    gap: card("one-gap", "One gap: a job's KV while its tool runs", gapChart, {
      wide: true,
      height: () => gapHeight(store.panel.gaps.find((gap) => gap.jps === store.cellRate), store.state.hidden),
    }),
  };
}

function fits(store: Store): HTMLElement {
  let each_policy = false;
  const table = live(store, () => fitTables(store.report, each_policy));
  const box = h("input", { type: "checkbox", onchange: (event) => {
    each_policy = (event.target as HTMLInputElement).checked;
    replace(table, ...fitTables(store.report, each_policy));
  } });
  return section("fits", "Regression over GPUs", h("p", { class: "muted" }, "Step duration over tokens, least squares over all steps. ",
    "The published fit does not say which tokens it means; both are here."), h("label", {}, box, " each policy"), " ",
    csvButton("regression.csv", () => fitCsv(store.report)), table);
}

function claims(store: Store): HTMLElement {
  let only = true;
  const table = live(store, () => claimsTables(store.report, only));
  const box = h("input", { type: "checkbox", onchange: (event) => {
    only = !(event.target as HTMLInputElement).checked;
    replace(table, ...claimsTables(store.report, only));
  } });
  return section("claims", "Published claims", h("label", {}, box, " also those that these archives cannot judge"), " ",
    csvButton("claims.csv", () => claimsCsv(store.report)), table,
    h("p", { class: "small muted" }, store.report.claim_sources.join("; ")));
}

function show(app: HTMLElement, report: Report): void {
  const store = new Store(report, location.hash);
  const { why, nine, gap } = chartCards(store);
  const cards = [why, ...nine, gap];
  const latency = latencySection(store);
  replace(app,
    h("header", { class: "top" }, h("h1", {}, report.archives.map((archive) => archive.sweep).join(", ")), themeToggle()),
    question(report), summary(store),
    section("regimes", "Regime map: who is best where", h("p", { class: "muted" },
      "By mean job completion time, among the policies without a host tier and those with this much host memory; the margin is to the next best."),
      csvButton("regimes.csv", () => regimeCsv(report)), live(store, () => regimeMaps(report, store.variants))),
    h("section", { class: "panel", id: "panel", "aria-label": "One GPU in nine charts" }, controls(store),
      h("p", { class: "small muted" }, KEYS), why.element, h("div", { class: "nine" }, ...nine.map((card) => card.element)), gap.element),
    latency.element, fits(store), claims(store),
    section("missing", "Cells without results", report.missing.length > 0 ? csvButton("missing.csv", () => missingCsv(report)) : null, missingTable(report)));
  store.onChange(() => {
    history.replaceState(null, "", store.address());
    for (const card of cards) card.refresh();
    latency.refresh();
  });
}

startTheme();
const app = document.getElementById("app") as HTMLElement;
const data = pageData<Report>();
if (!data) {
  replace(app, h("p", {}, "This page has no data: kvsweep report puts them in."));
} else if (data.panels.length === 0) {
  replace(app, h("header", { class: "top" }, h("h1", {}, "kvsweep report"), themeToggle()), question(data), section("missing", "Cells without results", missingTable(data)));
} else {
  document.title = `${data.archives.map((archive) => archive.sweep).join(", ")}: kvsweep report`;
  show(app, data);
}
