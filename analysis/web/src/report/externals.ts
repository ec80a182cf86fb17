// External results, as in their files, and the figures that show them.
import { num } from "@/shared/format";
import { h } from "@/shared/dom";

import type { ExternalCell, Report } from "./data";
import { badge, bar, dataTable, number, numbers, rowHead, section, texts } from "./elements";
import { table } from "./parts";

interface Row {
  cell: ExternalCell;
  figure: string;
  value: number | null;
}

const rowsOf = (externals: ExternalCell[]): Row[] =>
  externals.flatMap((cell) => cell.figures.map(([figure, value]) => ({ cell, figure, value })));

const configOf = ({ config }: ExternalCell): string =>
  config.map(([key, value]) => `${key}=${value}`).join(", ");

/** The figures that show a result, or a note that none does. */
const drawnIn = ({ shown_in }: ExternalCell): string =>
  (shown_in.length > 0 ? `drawn in ${shown_in.join(", ")}` : "in no figure of these archives");

function tableOf(cell: ExternalCell): HTMLElement {
  const rows = cell.figures.map(([name, value]) => [rowHead(name), number(num(value, 5))]);
  return h("article", {},
    h("h3", {}, cell.name, " ", badge(`EXTERNAL ${cell.source}`)),
    h("p", { class: "small muted" },
      `Beside ${cell.experiment}; ${drawnIn(cell)}. ${configOf(cell)}. From ${cell.file}.`),
    dataTable(`${cell.name}, external`, [...texts("figure"), ...numbers("value")], rows));
}

/** Empty if the report has no external results. */
export function externalsSection(report: Report): HTMLElement | null {
  const { externals } = report;
  if (externals.length === 0) return null;
  const csv = () => table(rowsOf(externals), {
    result: (row) => row.cell.name, beside: (row) => row.cell.experiment, figure: (row) => row.figure,
    value: (row) => row.value, figures: (row) => `EXTERNAL: ${row.cell.source}`,
    config: (row) => configOf(row.cell), file: (row) => row.cell.file,
  });
  return section("externals", "Results from elsewhere",
    h("p", {}, "kvsweep did not run these. No other table, claim or median of this page includes them. ",
      "Figures show them as series of their own."),
    bar("externals.csv", csv),
    ...externals.map(tableOf));
}
