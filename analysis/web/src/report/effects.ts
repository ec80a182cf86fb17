// What each part of a policy is worth, beside which others.
import type { CsvColumn } from "@/shared/csv";
import { h } from "@/shared/dom";

import { rateText, type Effect, type Report } from "./data";
import {
  bar, byKind, dataTable, interval, number, numbers, rowHead, section, text, texts, type Cell,
} from "./elements";
import { table } from "./parts";

const keyOf = ({ gpu, settings, part, without, with_part }: Effect) =>
  JSON.stringify([gpu, settings, part, without, with_part]);

function ratioCell(effect: Effect | undefined): Cell {
  if (!effect || effect.ratio === null) return number(h("span", { class: "muted" }, "–"));
  return number(effect.ratio.toFixed(2),
    effect.interval && h("div", { class: "small muted" }, interval(effect.interval, 3)));
}

/** A row for each pair of policies, a column for each rate. */
function effectTable(report: Report, effects: Effect[]): HTMLElement {
  const rates = [...new Set(effects.map(({ jps }) => jps))].sort((a, b) => Number(a) - Number(b));
  const pairs = [...new Map(effects.map((each) => [keyOf(each), each])).values()];
  const rows = pairs.map((pair) => {
    const own = effects.filter((each) => keyOf(each) === keyOf(pair));
    const { kind, gpu, settings, part, value, beside, without, with_part } = pair;
    const panel = report.panels.find((each) =>
      each.kind === kind && each.gpu === gpu && each.settings === settings);
    return [
      { ...rowHead(panel?.name ?? gpu), class: "wrap" },
      text(`${part} ${value}`), text(beside === "" ? "–" : beside),
      text(`${with_part} / ${without}`),
      ...rates.map((jps) => ratioCell(own.find((each) => each.jps === jps))),
    ];
  });
  return dataTable("what each part is worth",
    [...texts("GPU", "part", "beside", "policies"), ...numbers(...rates.map(rateText))], rows);
}

export function effectCsv(effects: Effect[]): CsvColumn[] {
  return table(effects, {
    figures: (e) => e.kind, gpu: (e) => e.gpu, settings: (e) => e.settings, jps: (e) => e.jps,
    part: (e) => e.part, value: (e) => e.value, beside: (e) => e.beside,
    with_part: (e) => e.with_part, without: (e) => e.without, ratio: (e) => e.ratio,
    low95: (e) => e.interval?.[0], high95: (e) => e.interval?.[1], repeats: (e) => e.repeats,
  });
}

/** Null if no two policies differ in one part alone. */
export function effectsSection(report: Report): HTMLElement | null {
  const { effects } = report;
  if (effects.length === 0) return null;
  return section("effects", "What each part of a policy is worth",
    h("p", { class: "muted" },
      "Mean job completion time with a part (order, retention, tier, prefetch, preemption, layout) over that " +
      "without it, where everything else is equal; below 1 it helps. 95 % intervals, unadjusted. What a part " +
      "is worth depends on the parts beside it."),
    bar("effects.csv", () => effectCsv(effects)),
    ...byKind(effects, ({ kind }) => kind, (own) => effectTable(report, own)));
}
