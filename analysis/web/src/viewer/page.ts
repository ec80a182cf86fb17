import { inflated } from "@/shared/columns";
import { eachLine } from "./files";
import { JsonlTrace } from "./jsonl";
import type { Trace } from "./model";

/** The data of `kvsweep trace --view` (analysis/trace/page.hpp). */
export interface PageCell {
  cell: number;
  key: string;
  label: string;
  backend: string;
  notes: Record<string, string>;
  deflated: string; // JSON lines in the zlib format, in base64
}

export interface TracePage {
  kind: "trace";
  archive: string;
  cells: PageCell[];
}

const SHOWN_NOTES = ["policy", "model", "cost_model", "gpu_name", "sku", "connector", "block_size"];

export async function traceOfPage(archive: string, cell: PageCell): Promise<Trace> {
  const shown = SHOWN_NOTES.filter((name) => cell.notes[name]);
  const read = new JsonlTrace(cell.label);
  await eachLine(inflated(cell.deflated), (line) => read.add(line));
  return {
    ...read.trace(),
    title: cell.label,
    policy: cell.notes["policy"] ?? "",
    origin: cell.backend === "sim" ? "modelled" : "measured",
    facts: [
      ["archive", archive],
      ["cell", `${cell.cell} (${cell.key.slice(0, 8)})`],
      ["backend", cell.backend],
      ...shown.map((name): [string, string] => [name, cell.notes[name] as string]),
    ],
  };
}
