import { csvButton, type CsvColumn } from "@/shared/csv";
import { h, type Child } from "@/shared/dom";
import { num } from "@/shared/format";
import { palette } from "@/shared/theme";

import { groupOf, isMeasured, panelName, rateText, repeatsText, type ClaimRow, type Fit, type Interval, type Maybe, type Panel, type Pool, type Regime, type Report } from "./data";
import type { Store } from "./state";

/** "MODELLED" or "MEASURED", with the rest of the kind beside it. */
export function badge(kind: string): HTMLElement {
  if (kind === "") return h("span", { class: "muted" }, "no result");
  const [word, ...rest] = kind.split(" ");
  return h("span", { class: `badge ${isMeasured(kind) ? "measured" : "modelled"}`, title: kind }, h("b", {}, word ?? ""), ` ${rest.join(" ")}`);
}

const interval = (value: Interval, digits = 4): string => (value === null ? "" : `${num(value[0], digits)} … ${num(value[1], digits)}`);
const cell = (...children: Child[]) => h("td", { class: "n" }, ...children);
const head = (names: string[], numbers: number) =>
  h("thead", {}, h("tr", {}, ...names.map((name, i) => h("th", { scope: "col", class: i >= names.length - numbers ? "n" : "" }, name))));

/** A table that scrolls in its own box, reachable by the keyboard. */
function boxed(label: string, ...children: Child[]): HTMLElement {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, h("table", {}, ...children));
}

export function section(id: string, title: string, ...children: Child[]): HTMLElement {
  return h("section", { class: "card block", id, "aria-label": title }, h("h2", {}, title), ...children);
}

// --- summary -----------------------------------------------------------------------------------------------------------

function summaryCell(panel: Panel, jps: string, variant: string, metric: string): HTMLElement {
  const group = groupOf(panel, jps, variant);
  const figure = group?.figures[metric];
  if (!group || !figure) return cell(h("span", { class: "muted" }, "–"));
  return h("td", { class: figure.best ? "n best" : "n" },
    h("div", { class: "value" }, num(figure.mean), figure.best ? h("span", { class: "mark", title: "best of the row" }, " ★") : null),
    h("div", { class: "small muted", title: `ratio to fcfs; ${repeatsText(group.repeats)}` },
      `${figure.ratio === null ? "" : `${figure.ratio.toFixed(2)}× fcfs, `}n=${group.repeats}`),
    figure.interval === null ? null : h("div", { class: "small muted", title: "95 % over the repeats" }, interval(figure.interval)),
    figure.published === null ? null : h("div", { class: "small published", title: "published value" }, `pub. ${num(figure.published)}`));
}

function summaryCsv(panel: Panel, metric: string): CsvColumn[] {
  const rows = panel.groups.flatMap((group) => (group.figures[metric] ? [{ group, figure: group.figures[metric] }] : []));
  const column = (name: string, of: (row: (typeof rows)[number]) => string | number | boolean | null | undefined): CsvColumn => ({ name, values: rows.map(of) });
  return [
    column("gpu", () => panel.gpu), column("figures", () => panel.kind), column("settings", () => panel.settings),
    column("jps", ({ group }) => group.jps), column("policy", ({ group }) => group.variant), column("metric", () => metric),
    column("unit", ({ figure }) => figure?.unit), column("mean", ({ figure }) => figure?.mean),
    column("low95", ({ figure }) => figure?.interval?.[0]), column("high95", ({ figure }) => figure?.interval?.[1]),
    column("ratio_to_fcfs", ({ figure }) => figure?.ratio), column("published", ({ figure }) => figure?.published),
    column("best", ({ figure }) => figure?.best), column("repeats", ({ group }) => group.repeats),
  ];
}

const fileName = (panel: Panel, what: string): string => `${panel.gpu}-${what}.csv`.replace(/[^\w.-]+/g, "_");

export function summaryTable(panel: Panel, metric: string): HTMLElement {
  const unit = panel.groups.find((group) => group.figures[metric])?.figures[metric]?.unit ?? "";
  return h("article", { class: "summary" },
    h("h3", {}, panelName(panel), " ", badge(panel.kind), csvButton(fileName(panel, metric), () => summaryCsv(panel, metric))),
    panel.devices === "" ? null : h("p", { class: "small muted" }, `Device as verified: ${panel.devices}`),
    boxed(`${panelName(panel)}: ${metric}`,
      head(["jobs/s", ...panel.variants], panel.variants.length),
      h("tbody", {}, ...panel.rates.map((jps) =>
        h("tr", {}, h("th", { scope: "row" }, jps), ...panel.variants.map((variant) => summaryCell(panel, jps, variant, metric)))))),
    h("p", { class: "small muted" }, `${metric}${unit === "" ? "" : ` [${unit}]`}; n: repeats`, ...panel.sources.map((source) => `; pub.: ${source}`)),
    ...panel.remarks.map((text) => h("p", { class: "small warn" }, text)));
}

// --- regimes -----------------------------------------------------------------------------------------------------------

const TIE = 0.01; // below one per cent of difference nobody has won

function regimeCell(regime: Regime | undefined, variants: string[]): HTMLElement {
  if (!regime) return h("td", {}, h("span", { class: "muted" }, "–"));
  const color = palette()[variants.indexOf(regime.winner) % 8] ?? "";
  const certain = regime.margin_interval === null ? "" : ` (95 %: ${interval(percents(regime.margin_interval), 3)} %)`;
  const element = h("td", { class: "regime", title: `${regime.winner} ${num(regime.value)} s, then ${regime.runner_up} ${num(regime.runner_value)} s${certain}` },
    h("b", {}, (regime.margin ?? 0) < TIE ? `${regime.winner} ≈ ${regime.runner_up}` : regime.winner),
    h("div", { class: "small" }, `+${num((regime.margin ?? NaN) * 100, 3)} % to ${regime.runner_up}`),
    h("div", { class: "small muted" }, `n=${regime.repeats}${certain}`));
  const strength = Math.min(55, 12 + 60 * Math.max(0, regime.margin ?? 0));
  element.style.background = `color-mix(in srgb, ${color} ${strength}%, transparent)`;
  return element;
}

const percents = (value: [number, number]): [number, number] => [value[0] * 100, value[1] * 100];

export function regimeMaps(report: Report, variants: string[]): HTMLElement[] {
  const keys = [...new Set(report.regimes.map((each) => JSON.stringify([each.kind, each.settings])))];
  return keys.map((key) => {
    const own = report.regimes.filter((each) => JSON.stringify([each.kind, each.settings]) === key);
    const rates = [...new Set(own.map((each) => each.jps))].sort((a, b) => Number(a) - Number(b));
    const rows = [...new Set(own.map((each) => JSON.stringify([each.gpu, each.dram])))];
    const first = own[0] as Regime;
    return h("article", {},
      h("h3", {}, badge(first.kind), ` ${first.settings}`),
      boxed("regime map", head(["GPU", "host memory", ...rates.map(rateText)], 0),
        h("tbody", {}, ...rows.map((row) => {
          const [gpu, dram] = JSON.parse(row) as [string, string];
          const at = (jps: string) => own.find((each) => each.gpu === gpu && each.dram === dram && each.jps === jps);
          return h("tr", {}, h("th", { scope: "row" }, gpu), h("td", {}, dram === "-" ? "none" : `${dram} GiB`), ...rates.map((jps) => regimeCell(at(jps), variants)));
        }))));
  });
}

export function regimeCsv(report: Report): CsvColumn[] {
  const column = (name: string, of: (row: Regime) => string | Maybe | undefined): CsvColumn => ({ name, values: report.regimes.map(of) });
  return [
    column("figures", (r) => r.kind), column("settings", (r) => r.settings), column("gpu", (r) => r.gpu), column("dram_gib", (r) => r.dram),
    column("jps", (r) => r.jps), column("winner", (r) => r.winner), column("jct_s", (r) => r.value), column("runner_up", (r) => r.runner_up),
    column("runner_up_jct_s", (r) => r.runner_value), column("margin", (r) => r.margin),
    column("margin_low95", (r) => r.margin_interval?.[0]), column("margin_high95", (r) => r.margin_interval?.[1]), column("repeats", (r) => r.repeats),
  ];
}

/** Modelled and measured numbers, and those of different cost models, never share a table. */
function byKind<Row>(rows: Row[], kind_of: (row: Row) => string, table: (rows: Row[]) => HTMLElement): HTMLElement[] {
  const kinds = [...new Set(rows.map(kind_of))];
  return kinds.map((kind) => h("article", {}, h("h3", {}, badge(kind)), table(rows.filter((row) => kind_of(row) === kind))));
}

// --- fits --------------------------------------------------------------------------------------------------------------

interface FitRow {
  panel: Panel;
  x: "max_tok" | "n_tok";
  variant: string;
  fit: Fit;
  repeats: number;
}

function fitRows(report: Report, x: "max_tok" | "n_tok", each_policy: boolean): FitRow[] {
  const of = (pool: Pool) => (x === "max_tok" ? pool.largest.fit : pool.total.fit);
  return report.panels.flatMap((panel) =>
    [...panel.all, ...(each_policy ? panel.pooled : [])].map((pool) => ({ panel, x, variant: pool.variant === "" ? "all" : pool.variant, fit: of(pool), repeats: pool.repeats })));
}

export function fitTables(report: Report, each_policy: boolean): HTMLElement[] {
  const rows = [...fitRows(report, "max_tok", each_policy), ...fitRows(report, "n_tok", each_policy)];
  return byKind(rows, ({ panel }) => panel.kind, (own) => fitTable(report, own));
}

function fitTable(report: Report, rows: FitRow[]): HTMLElement {
  const published = ({ panel, x, variant }: FitRow) => (variant === "all" ? report.published_fits.find((fit) => fit.gpu === panel.gpu && fit.x === x) : undefined);
  const both = (own: Maybe, other: Maybe | undefined) => cell(num(own, 4), other === undefined || other === null ? null : h("div", { class: "small published" }, `pub. ${num(other)}`));
  return boxed("regression over GPUs",
    head(["GPU", "x", "policy", "steps", "slope [µs/tok]", "intercept [ms]", "R²", "repeats"], 5),
    h("tbody", {}, ...rows.map((row) => {
      const pub = published(row);
      return h("tr", {}, h("th", { scope: "row" }, panelName(row.panel)), h("td", {}, row.x === "max_tok" ? "largest request" : "whole step"), h("td", {}, row.variant), cell(num(row.fit.n)),
        both(row.fit.slope_us, pub?.slope_us), both(row.fit.intercept_ms, pub?.intercept_ms), both(row.fit.r2, pub?.r2), cell(row.repeats));
    })));
}

export function fitCsv(report: Report): CsvColumn[] {
  const rows = [...fitRows(report, "max_tok", true), ...fitRows(report, "n_tok", true)];
  const column = (name: string, of: (row: FitRow) => string | Maybe): CsvColumn => ({ name, values: rows.map(of) });
  return [
    column("gpu", (r) => r.panel.gpu), column("figures", (r) => r.panel.kind), column("settings", (r) => r.panel.settings), column("x", (r) => r.x),
    column("policy", (r) => r.variant), column("steps", (r) => r.fit.n), column("slope_us_per_tok", (r) => r.fit.slope_us),
    column("intercept_ms", (r) => r.fit.intercept_ms), column("r2", (r) => r.fit.r2), column("repeats", (r) => r.repeats),
  ];
}

// --- claims, missing cells, provenance -----------------------------------------------------------------------------------

const limits = (low: Maybe, high: Maybe): string =>
  low === null ? (high === null ? "" : `≤ ${num(high)}`) : high === null ? `≥ ${num(low)}` : low === high ? num(low) : `${num(low)} … ${num(high)}`;

export function claimsTables(report: Report, only_judged: boolean): HTMLElement[] {
  const rows = report.claims.filter((row) => !only_judged || row.kind !== "");
  if (rows.length === 0) return [h("p", { class: "muted" }, "No claim concerns these cells.")];
  return byKind(rows, (row) => row.kind, claimsTable);
}

function claimsTable(rows: ClaimRow[]): HTMLElement {
  return boxed("claims", head(["claim", "at", "verdict", "ours", "95 %", "published", "claimed", "repeats"], 5),
    h("tbody", {}, ...rows.map((row) =>
      h("tr", {}, h("th", { scope: "row", class: "wrap", title: `${row.source}; ${row.metric}` }, `${row.set} ${row.id}`, h("div", { class: "small says" }, row.says)), h("td", {}, row.at),
        h("td", {}, h("span", { class: `verdict ${row.verdict}` }, row.verdict), row.reason === "" ? null : h("div", { class: "small muted wrap" }, row.reason)),
        cell(num(row.ours)), cell(interval(row.interval)), cell(num(row.published)), cell(limits(row.low, row.high)), cell(row.repeats)))));
}

export function claimsCsv(report: Report): CsvColumn[] {
  const names = ["set", "id", "at", "verdict", "kind", "ours", "published", "low", "high", "repeats", "reason", "metric", "says", "source"] as const;
  return names.map((name) => ({ name, values: report.claims.map((row) => row[name]) }));
}

export function missingTable(report: Report): HTMLElement {
  if (report.missing.length === 0) return h("p", {}, "None: every planned cell has a result.");
  return boxed("cells without results", head(["archive", "cell", "what was planned", "status", "reason"], 0),
    h("tbody", {}, ...report.missing.map((each) =>
      h("tr", {}, h("td", {}, each.archive), cell(each.index), h("td", {}, each.label), h("td", {}, each.status), h("td", { class: "wrap" }, each.reason === "" ? "not run yet" : each.reason)))));
}

export function missingCsv(report: Report): CsvColumn[] {
  const names = ["archive", "index", "label", "status", "reason", "kind"] as const;
  return names.map((name) => ({ name, values: report.missing.map((row) => row[name]) }));
}

export function provenance(report: Report): HTMLElement[] {
  return report.archives.map((archive) =>
    h("details", { class: "provenance" },
      h("summary", {}, h("b", {}, archive.name), ` sweep ${archive.sweep}, ${archive.ok} of ${archive.cells} cells have a result, created ${archive.created} by kvsweep ${archive.tool}`),
      ...archive.runs.map((run) => h("dl", {}, ...run.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]))),
      h("pre", { class: "scroll", tabindex: 0, "aria-label": "sweep file" }, archive.spec)));
}

export function panelFileName(store: Store, what: string): string {
  return fileName(store.panel, what);
}
