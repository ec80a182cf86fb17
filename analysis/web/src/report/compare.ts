// Latency by turn of one GPU with one size of host memory, to be shown beside others.
import { seconds } from "@/shared/format";

import {
  groupOf, panelName, rateText, repeatsOf, type Group, type Maybe, type Panel,
} from "./data";
import { axisTip, frame, nothing, xAxis, yAxis, sourced, table, type Drawing } from "./parts";
import { lineKeys, lineSeries } from "./pools";
import type { Store } from "./state";

/** Policies without host memory, and policies with this size of it. */
export function withDram(panel: Panel, jps: string, dram: string, variants: string[]): string[] {
  return variants.filter((variant) => {
    const group = groupOf(panel, jps, variant);
    return group !== undefined && (group.dram === "-" || group.dram === dram);
  });
}

function groupsOf(panel: Panel, jps: string, dram: string, hidden: Set<string>): Group[] {
  const shown = panel.variants.filter((variant) => !hidden.has(variant));
  return withDram(panel, jps, dram, shown).flatMap((variant) => groupOf(panel, jps, variant) ?? []);
}

/** The panel and selection of the latencies, and the range of the chart. */
export interface TurnView {
  panel: Panel;
  jps: string;
  dram: string;
  turns: number;
  top: Maybe;
}

export function turnLatencyChart(store: Store, view: TurnView): Drawing {
  const { panel, jps, dram, turns, top } = view;
  const groups = groupsOf(panel, jps, dram, store.state.hidden);
  if (groups.length === 0) return nothing(`No results on ${panelName(panel)} at ${rateText(jps)}.`);
  const rows = groups.flatMap((group) =>
    group.turns.slice(0, turns).map((turn, i) => ({ group, turn: i + 1, mean: turn[1] })),
  );
  const columns = table(rows, {
    policy: (row) => row.group.variant, turn: (row) => row.turn, mean_s: (row) => row.mean,
  });
  const memory = dram === "-" ? "no host memory" : `${dram} GiB of host memory`;
  return {
    option: frame({
      xAxis: {
        ...xAxis("turn"), type: "category",
        data: Array.from({ length: turns }, (_, i) => `T${i + 1}`),
      },
      yAxis: yAxis("mean latency [s]", top === null ? {} : { max: top }),
      tooltip: axisTip((at) => at, seconds),
      series: groups.map((group) => {
        const means = group.turns.slice(0, turns).map((turn) => turn[1]);
        return lineSeries(store, group.variant, means, true);
      }),
    }),
    keys: lineKeys(store, groups.map((group) => group.variant)),
    csv: sourced(panel, columns, () => jps, (i) => rows[i]?.group.repeats ?? 0),
    note: `${panel.kind}, ${memory}, ${rateText(jps)}, ${repeatsOf(groups)}.`,
  };
}

/** The largest latency, so that charts below each other share an axis. */
export function highestTurn(
  places: { panel: Panel; dram: string }[], jps: string, turns: number, hidden: Set<string>,
): Maybe {
  const all = places.flatMap(({ panel, dram }) =>
    groupsOf(panel, jps, dram, hidden).flatMap((group) =>
      group.turns.slice(0, turns).map((turn) => turn[1] ?? 0),
    ),
  );
  if (all.length === 0) return null;
  const most = Math.max(...all);
  const step = 10 ** Math.floor(Math.log10(Math.max(most, 1e-3))) / 2;
  return Math.ceil(most / step) * step;
}
