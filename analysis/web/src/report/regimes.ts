// The best policy by GPU, host memory and arrival rate.
import type { CsvColumn } from "@/shared/csv";
import { h } from "@/shared/dom";
import { percent, seconds } from "@/shared/format";

import { rateText, type Panel, type Regime, type Report } from "./data";
import {
  badge, bar, dataTable, live, rowHead, section, text, texts, type Cell,
} from "./elements";
import { designFolds, MANY_PANELS, shortened } from "./folds";
import { looks, table } from "./parts";
import type { Store } from "./state";

const STRONGEST = 34; // percent of a color at which text on it is still readable

/** "tie of 3: a, b, c" if the others tie with the winner. */
function winnerText({ winner, tied }: Regime): string {
  return tied.length === 0 ? winner : `tie of ${tied.length + 1}`;
}

function regimeCell(regime: Regime | undefined, variants: string[]): Cell {
  if (!regime) return text(h("span", { class: "muted" }, "–"));
  const { winner, tied, undecided, next, margin_interval, repeats } = regime;
  const range = margin_interval === null
    ? ""
    : ` (95 %: ${percent(margin_interval[0])} … ${percent(margin_interval[1])})`;
  const color = looks(variants, winner).color;
  const strength = Math.min(STRONGEST, 10 + 60 * Math.max(0, regime.margin ?? 0));
  const small = (words: string) => h("div", { class: "small" }, words);
  return {
    class: "regime",
    title: `${winner} ${seconds(regime.value)}`,
    content: [
      h("b", {}, winnerText(regime)),
      tied.length > 0 && small([winner, ...tied].join(", ")),
      undecided.length > 0 && small(`undecided: ${undecided.join(", ")}`),
      next.length > 0 && small(`next ${next.join(", ")}: +${percent(regime.margin)}`),
      small(`n=${repeats}${range}`),
    ],
    ...(tied.length + undecided.length > 0
      ? {}
      : { background: `color-mix(in srgb, ${color} ${strength}%, transparent)` }),
  };
}

const keyOf = ({ kind, settings }: Regime | Panel) => JSON.stringify([kind, settings]);
const rowOf = ({ gpu, dram }: Regime) => JSON.stringify([gpu, dram]);

function regimeMap(own: Regime[], settings: string, variants: string[]): HTMLElement {
  const rates = [...new Set(own.map((each) => each.jps))].sort((a, b) => Number(a) - Number(b));
  const rows = [...new Set(own.map(rowOf))].map((row) => {
    const cells = own.filter((each) => rowOf(each) === row);
    const [gpu, dram] = JSON.parse(row) as [string, string];
    return [
      rowHead(gpu), text(dram === "-" ? "none" : `${dram} GiB`),
      ...rates.map((jps) => regimeCell(cells.find((each) => each.jps === jps), variants)),
    ];
  });
  const first = own[0] as Regime;
  return h("article", {},
    h("h3", {}, badge(first.kind), ` ${settings}`),
    dataTable("regime map", texts("GPU", "host memory", ...rates.map(rateText)), rows));
}

const regimesOf = (report: Report, panel: Panel): Regime[] =>
  report.regimes.filter((each) => keyOf(each) === keyOf(panel));

/** Panels with a map; panels of different cards share one map. */
function mapped(report: Report, panels: Panel[]): Panel[] {
  const first = new Map(panels.map((panel) => [keyOf(panel), panel]));
  return [...first.values()].filter((panel) => regimesOf(report, panel).length > 0);
}

export function regimeCsv(report: Report): CsvColumn[] {
  return table(report.regimes, {
    figures: (r) => r.kind, settings: (r) => r.settings, gpu: (r) => r.gpu, dram_gib: (r) => r.dram,
    jps: (r) => r.jps, winner: (r) => r.winner, tied_with: (r) => r.tied.join(" "),
    undecided: (r) => r.undecided.join(" "), jct_s: (r) => r.value, next: (r) => r.next.join(" "),
    margin: (r) => r.margin, margin_low95: (r) => r.margin_interval?.[0],
    margin_high95: (r) => r.margin_interval?.[1], repeats: (r) => r.repeats,
  });
}

export function regimesSection(store: Store): HTMLElement {
  const { report } = store;
  const maps = () => {
    const keys = [...new Set(report.regimes.map(keyOf))];
    return keys.map((key) => {
      const own = report.regimes.filter((each) => keyOf(each) === key);
      return regimeMap(own, own[0]?.settings ?? "", store.variants);
    });
  };
  const all = report.panels.length > MANY_PANELS
    ? designFolds(store, report, "map", (own) => mapped(report, own).length, (design) =>
      mapped(report, design.panels).map((panel) => regimeMap(
        regimesOf(report, panel), shortened(panel, design).settings, store.variants)))
    : [live(store, maps)];
  return section("regimes", "Regime map: what is best where",
    h("p", { class: "muted" },
      "By mean job completion time, among the policies without a host tier and those with this " +
      "much host memory; by how much the next one is slower. A tie: less than 1 % apart. " +
      "Undecided: the repeats do not tell it from the best (Holm's rule, 5 %)."),
    bar("regimes.csv", () => regimeCsv(report)), ...all);
}
