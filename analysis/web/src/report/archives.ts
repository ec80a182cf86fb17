// The provenance of the numbers, and missing cells.
import { h } from "@/shared/dom";

import { repeatsText, type Archive, type Report } from "./data";
import { badge, section } from "./elements";

function provenance(archive: Archive): HTMLElement {
  const { name, sweep, ok, cells, created, tool } = archive;
  return h("details", { class: "provenance" },
    h("summary", {}, h("b", {}, name),
      ` sweep ${sweep}, ${ok} of ${cells} cells have a result, `,
      `created ${created} by kvsweep ${tool}`),
    ...archive.runs.map((run) => h("dl", {}, ...run.flatMap(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]))),
    h("pre", { class: "scroll", tabindex: 0, "aria-label": "sweep file" }, archive.spec));
}

export function provenanceSection(report: Report): HTMLElement {
  const { archives, panels } = report;
  const sum = (of: "ok" | "cells") => archives.reduce((all, each) => all + each[of], 0);
  const kinds = new Set(panels.map((panel) => panel.kind)), gpus = new Set(panels.map((panel) => panel.gpu)).size;
  const repeats = repeatsText(Math.max(0, ...panels.flatMap(({ groups }) => groups.map((group) => group.repeats))));
  const badges = [...kinds].flatMap((kind, i) => [i > 0 ? ", " : "", badge(kind)]);
  return section("provenance", "Provenance",
    h("p", {}, ...(badges.length > 0 ? ["Figures here are ", ...badges, ". "] : []),
      "MODELLED: computed by a cost model in virtual time. MEASURED: a model ran. Kinds never share a table or a chart."),
    h("p", { class: "muted" },
      `${sum("ok")} of ${sum("cells")} planned cells have a result; `,
      panels.length > 0 && `${gpus} GPU${gpus === 1 ? "" : "s"}, ${repeats} at most; `,
      `page made by kvsweep ${report.program}.`),
    ...archives.map(provenance));
}
