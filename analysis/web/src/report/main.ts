import "@/shared/theme.css";
import "./report.css";
import { pageData } from "@/shared/columns";
import { h, replace } from "@/shared/dom";
import { startTheme, themeToggle } from "@/shared/theme";

import { answerSection, contents, warningsSection } from "./answer";
import { provenanceSection } from "./archives";
import type { Card } from "./card";
import { complete } from "@/charts/chart";
import { sweepsOf, type Report } from "./data";
import { accessesSection, capacitySection, studiesSection } from "./figures";
import { MANY_PANELS } from "./folds";
import { loadSection, panelSection } from "./panel";
import { regimesSection } from "./regimes";
import { Store } from "./state";
import { summarySection } from "./summary";
import { actsSection, claimsSection, missingSection } from "./tables";

const titleOf = (report: Report) => sweepsOf(report.archives).join(", ");

const top = (title: string) => h("header", { class: "top" }, h("h1", {}, title), themeToggle());

/** A section without charts follows the state by itself. */
const still = (element: HTMLElement): Card => ({ element, refresh: () => undefined });

/** From top to bottom. */
function sections(store: Store): Card[] {
  const warnings = warningsSection(store.report);
  return [
    ...capacitySection(store.report),
    loadSection(store),
    still(regimesSection(store)),
    still(answerSection(store.report)),
    ...(warnings ? [still(warnings)] : []),
    ...studiesSection(store.report),
    ...accessesSection(store.report),
    still(summarySection(store)),
    still(actsSection(store)),
    panelSection(store),
    still(claimsSection(store)),
    still(missingSection(store.report)),
    still(provenanceSection(store.report)),
  ];
}

function show(app: HTMLElement, report: Report): void {
  const store = new Store(report, location.hash);
  const parts = sections(store);
  const elements = parts.map((part) => part.element);
  // The picture and the map share the first screen, the sentences follow.
  const is_short = report.panels.length <= MANY_PANELS && elements[0]?.id !== "capacity";
  app.classList.toggle("beside", is_short);
  const first = elements.findIndex(({ id }) => id === "answer");
  replace(app, top(titleOf(report)), ...elements.slice(0, first), contents(elements), ...elements.slice(first));
  store.onChange(() => {
    history.replaceState(null, "", store.address());
    for (const part of parts) part.refresh();
  });
  window.addEventListener("hashchange", () => store.goTo(location.hash));
}

async function start(app: HTMLElement): Promise<void> {
  const data = await pageData<Report>();
  if (!data) {
    replace(app, h("p", {}, "This page has no data: kvsweep report puts them in."));
  } else if (data.panels.length === 0) {
    complete(data.studies);
    const title = data.studies.length === 0 ? "kvsweep report" : titleOf(data);
    replace(app, top(title), ...capacitySection(data).map(({ element }) => element), provenanceSection(data), missingSection(data));
  } else {
    document.title = `${titleOf(data)}: kvsweep report`;
    for (const charts of [data.studies, data.accesses, ...data.panels.map((panel) => panel.charts)]) complete(charts);
    show(app, data);
  }
}

startTheme();
void start(document.getElementById("app") as HTMLElement);
