// The provenance of the numbers, and missing cells.
import { h } from "@/shared/dom";

import { repeatsText, type Archive, type Report } from "./data";
import { badge, section } from "./elements";

const OF_THAT_RUN = ["--resume", "--fresh", "--quick", "--no-prev", "--retry-quarantined"];
const OF_THAT_RUN_WITH_VALUE = ["--archive", "--only", "--skip", "--cell", "--jsonl", "--wait", "--time-limit"];

/** The command that runs one cell of an archive again, by the last `kvsweep run` that wrote it; "" if none did. */
export function againText(runs: Archive["runs"]): string {
  const commands = runs.map((run) => run.find(([key]) => key === "command")?.[1] ?? "");
  const words = commands.filter((each) => each.startsWith("run ")).at(-1)?.match(/('[^']*'|\S)+/g) ?? [];
  const kept = words.filter((word, i) =>
    !OF_THAT_RUN.includes(word) && !OF_THAT_RUN_WITH_VALUE.some((option) => word === option || words[i - 1] === option));
  return kept.length === 0 ? "" : `kvsweep ${kept.join(" ")} --cell CELL --archive cell.h5`;
}

function again({ runs }: Archive): HTMLElement[] {
  const command = againText(runs);
  if (command === "") return [];
  return [
    h("p", {}, "One cell again (CELL is its number, as in the trace commands of charts over time, or the start of its key):"),
    h("pre", { class: "scroll", tabindex: 0, "aria-label": "command that runs a cell again" }, command),
  ];
}

function provenance(archive: Archive): HTMLElement {
  const { name, sweep, ok, cells, created, tool } = archive;
  const runs = archive.runs.map((run) =>
    h("dl", {}, ...run.flatMap(([key, value]) => [h("dt", {}, key), h("dd", {}, value)])),
  );
  return h("details", { class: "provenance" },
    h("summary", {}, h("b", {}, name),
      ` sweep ${sweep}, ${ok} of ${cells} cells have a result, `,
      `created ${created} by kvsweep ${tool}`),
    ...again(archive),
    ...runs,
    h("pre", { class: "scroll", tabindex: 0, "aria-label": "sweep file" }, archive.spec));
}

export function provenanceSection(report: Report): HTMLElement {
  const { archives, panels } = report;
  const kinds = [...new Set(panels.map((panel) => panel.kind))];
  const sum = (of: (archive: Archive) => number) =>
    archives.reduce((all, each) => all + of(each), 0);
  const gpus = new Set(panels.map((panel) => panel.gpu)).size;
  const groups = panels.flatMap((panel) => panel.groups);
  const repeats = repeatsText(Math.max(0, ...groups.map((group) => group.repeats)));
  const badges = kinds.flatMap((kind, i) => [i > 0 ? ", " : "", badge(kind)]);
  return section("provenance", "Provenance",
    h("p", {}, "Figures here are ", ...badges,
      ". MODELLED: computed by a cost model in virtual time. MEASURED: a model ran. ",
      "Kinds never share a table or a chart."),
    h("p", { class: "muted" },
      `${sum((each) => each.ok)} of ${sum((each) => each.cells)} planned cells have a result; `,
      `${gpus} GPU${gpus === 1 ? "" : "s"}, ${repeats} at most; `,
      `page made by kvsweep ${report.program}.`),
    ...archives.map(provenance));
}
