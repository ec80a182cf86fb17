// The best policy by GPU, host memory and arrival rate.
import { h } from "@/shared/dom";
import { even, seconds } from "@/shared/format";

import { rateText, repeatsText, type Panel, type Regime, type Report } from "./data";
import { badge, bar, dataTable, live, rowHead, section, text, texts, type Cell } from "./elements";
import { designFolds, MANY_PANELS, shortened } from "./folds";
import { looks } from "@/charts/parts";
import type { Store } from "./state";
import { csvOfTables, ofPart } from "./tables";

const STRONGEST = 34; // percent of a color at which text on it is still readable

/** "tie of 3: a, b, c" if the others tie with the winner. */
function winnerText({ winner, tied }: Regime): string {
  return tied.length === 0 ? winner : `tie of ${tied.length + 1}`;
}

function regimeCell(regime: Regime | undefined, variants: string[]): Cell {
  if (!regime) return text(h("span", { class: "muted" }, "–"));
  const { winner, tied, undecided, next, margin_interval, repeats, p99, worse } = regime;
  const range = margin_interval === null
    ? ""
    : ` (${even(margin_interval[0] * 100, 3)}\u00a0…\u00a0${even(margin_interval[1] * 100, 3)}\u00a0%)`;
  const color = looks(variants, winner).color;
  const strength = Math.min(STRONGEST, 10 + 60 * Math.max(0, regime.margin ?? 0));
  const small = (words: string) => h("div", { class: "small" }, words);
  return {
    class: "regime",
    title: [`${winner} ${seconds(regime.value)}`, p99, worse, repeatsText(repeats)].filter((each) => each !== "").join("; "),
    content: [
      h("b", {}, winnerText(regime)), tied.length > 0 && ": ",
      tied.length > 0 && h("span", { class: "small" }, [winner, ...tied].sort().join(", ")),
      undecided.length > 0 && small(`undecided: ${undecided.join(", ")}`),
      next.length > 0 && small(`${next.join(", ")} +${even((regime.margin ?? NaN) * 100, 3)}\u00a0%${range}`),
      worse !== "" && h("div", { class: "small warn" }, "worse tail than fcfs"),
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
      rowHead(gpu, dram !== "-" && h("div", { class: "small muted" }, `${dram} GiB`)),
      ...rates.map((jps) => regimeCell(cells.find((each) => each.jps === jps), variants)),
    ];
  });
  const first = own[0] as Regime;
  const counts = own.map(({ repeats }) => repeats), least = Math.min(...counts), most = Math.max(...counts);
  return h("article", {},
    h("h3", {}, badge(first.kind), h("span", { class: "small muted" }, `n=${least === most ? most : `${least} to ${most}`}`), ` ${settings}`),
    dataTable("regime map", texts("GPU", ...rates.map(rateText)), rows));
}

const regimesOf = (report: Report, panel: Panel): Regime[] =>
  report.regimes.filter((each) => keyOf(each) === keyOf(panel));

/** Panels with a map; panels of different cards share one map. */
function mapped(report: Report, panels: Panel[]): Panel[] {
  const first = new Map(panels.map((panel) => [keyOf(panel), panel]));
  return [...first.values()].filter((panel) => regimesOf(report, panel).length > 0);
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
  return section("regimes", "Regime map: what is best where", ...all,
    h("p", { class: "small muted" },
      "Among the policies without a host tier and those with this much host memory; below the best: what " +
      "comes next, and how much longer its jobs take, with the 95 % interval. Tie: less than 1 % apart. " +
      "Undecided: not told from the best (Holm, 5 %). Worse tail: p99 of TTFT, of a job's first token or of JCT above 1.3 times fcfs's."),
    bar("regimes.csv", () => csvOfTables(ofPart(report, "regimes"))));
}
