// Accesses to KV blocks over time, for cells with an access log.
import { h } from "@/shared/dom";

import type { AccessChart } from "./accesses_data";
import { accessesDrawing, idleDrawing, sinceWriteDrawing, windowDrawing } from "./accesses_draw";
import { chartCard, type Card } from "./card";
import type { Report } from "./data";
import { badge } from "./elements";
import type { Drawing } from "./parts";

const PARTS: [string, string, (chart: AccessChart) => Drawing, number][] = [
  ["accesses", "Accesses over time", accessesDrawing, 520],
  ["idle", "Idle share by block", idleDrawing, 300],
  ["since-write", "Time since the last write, by block", sinceWriteDrawing, 300],
  ["window", "Window use by forward pass", windowDrawing, 300],
];

function accessesOf(chart: AccessChart, position: number): Card {
  const cards = PARTS.map(([part, title, draw, pixels]) =>
    chartCard(`access-${position}-${part}`, title, () => `accesses-cell-${chart.cell}-${part}.csv`,
      () => draw(chart), { height: () => pixels }));
  const [over_time, ...others] = cards.map((card) => card.element);
  const element = h("article", { class: "access" },
    h("h3", {}, `Cell ${chart.cell} `, badge(chart.kind), h("span", { class: "small muted settings" }, ` ${chart.label}`)),
    over_time, h("div", { class: "nine" }, ...others));
  return { element, refresh: () => cards.forEach((card) => card.refresh()) };
}

/** Empty if no cell logged its accesses. */
export function accessesSection(report: Report): Card[] {
  const { accesses, accesses_left_out: left_out } = report;
  if (accesses.length === 0 && left_out.length === 0) return [];
  const parts = accesses.map((chart, position) => accessesOf(chart, position));
  const element = h("section", { class: "accesses", id: "accesses", "aria-label": "Accesses to KV blocks" },
    h("h2", {}, "Accesses to KV blocks"),
    ...parts.map((part) => part.element),
    left_out.length > 0 && h("p", { class: "small warn" },
      `Not drawn here: ${left_out.join("; ")}. kvsweep-figures draws them.`));
  return [{ element, refresh: () => parts.forEach((part) => part.refresh()) }];
}
