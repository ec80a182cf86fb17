// Step duration over tokens, on every GPU.
import type { CsvColumn } from "@/shared/csv";
import { h } from "@/shared/dom";
import { even, num } from "@/shared/format";

import { check } from "./controls";
import { type Fit, type Maybe, type Panel, type Report } from "./data";
import {
  bar, byKind, dataTable, live, number, numbers, panelTitle, rowHead, section, text, texts,
  type Cell,
} from "./elements";
import { designFolds, MANY_PANELS, shortened } from "./folds";
import { table } from "./parts";
import type { Store } from "./state";

interface FitRow {
  panel: Panel;
  fit: Fit;
}

const X_TEXTS: Record<Fit["x"], string> = { max_tok: "largest request", n_tok: "whole step" };

const fitRows = (panels: Panel[], each_policy: boolean): FitRow[] => panels.flatMap((panel) =>
  panel.fits.filter(({ variant }) => variant === "" || each_policy).map((fit) => ({ panel, fit })))
  .sort((a, b) => a.fit.x.localeCompare(b.fit.x));

const policyOf = ({ variant }: Fit): string => variant || "all";

function withPublished(own: Maybe, published: Maybe | undefined): Cell {
  if (published === undefined || published === null) return number(even(own));
  return number(even(own), h("div", { class: "small published" }, `pub. ${num(published)}`));
}

function fitTable(report: Report, rows: FitRow[]): HTMLElement {
  const published = ({ panel, fit: { x, variant } }: FitRow) => {
    if (variant !== "") return undefined;
    const { kind, gpu } = panel;
    return report.published_fits.find(
      (fit) => fit.kind === kind && fit.gpu === gpu && fit.x === x,
    );
  };
  const columns = [
    ...texts("GPU", "tokens of", "policy"),
    ...numbers("steps", "slope [µs/token]", "intercept [ms]", "R²", "repeats"),
  ];
  return dataTable("regression over GPUs", columns, rows.map((row) => {
    const pub = published(row);
    return [
      { ...rowHead(...panelTitle(row.panel)), class: "wrap" }, text(X_TEXTS[row.fit.x]), text(policyOf(row.fit)),
      number(num(row.fit.n)),
      withPublished(row.fit.slope_us, pub?.slope_us),
      withPublished(row.fit.intercept_ms, pub?.intercept_ms),
      withPublished(row.fit.r2, pub?.r2), number(row.fit.repeats),
    ];
  }));
}

function fitCsv(report: Report): CsvColumn[] {
  return table(fitRows(report.panels, true), {
    gpu: (r) => r.panel.gpu, figures: (r) => r.panel.kind, settings: (r) => r.panel.settings,
    x: (r) => r.fit.x, policy: (r) => policyOf(r.fit), steps: (r) => r.fit.n,
    slope_us_per_tok: (r) => r.fit.slope_us, intercept_ms: (r) => r.fit.intercept_ms,
    r2: (r) => r.fit.r2, repeats: (r) => r.fit.repeats,
  });
}

export function fitsSection(store: Store): HTMLElement {
  const { report } = store;
  const rows = (panels: Panel[]) => fitRows(panels, store.state.each_fit);
  const tables = () =>
    byKind(rows(report.panels), ({ panel }) => panel.kind, (own) => fitTable(report, own));
  const all = report.panels.length > MANY_PANELS
    ? designFolds(store, report, "setting", (own) => own.length, (design) =>
      [fitTable(report, rows(design.panels.map((panel) => shortened(panel, design))))])
    : [live(store, tables)];
  return section("fits", "Regression over GPUs",
    h("p", { class: "muted" },
      "Step duration over tokens, least squares over all steps. The published fit does " +
      "not say which tokens it means; both are here."),
    bar("regression.csv", () => fitCsv(report), check(store, "each policy", "each_fit")),
    ...all);
}
