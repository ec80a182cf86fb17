import { JsonlTrace } from "./jsonl";

/** The common name of a trace's files: "x" of x.steps.jsonl, x.requests.jsonl and x.events.jsonl. */
export function traceName(fileName: string): string {
  return fileName.replace(/\.(steps|requests|events)?\.?jsonl?$/i, "");
}

/** Every line of a text, without holding the text. */
export async function eachLine(
  bytes: ReadableStream<Uint8Array<ArrayBuffer>>,
  use: (line: string, number: number) => void,
): Promise<void> {
  const reader = bytes.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", number = 0;
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = done ? "" : (lines.pop() ?? "");
    for (const line of lines) use(line, ++number);
    if (done) return;
  }
}

/**
 * Reads files of JSON lines into their traces, by name. Steps are read first, for any order
 * of the files. Throws an Error that names file and line if a line is not part of a trace.
 */
export async function readTraces(files: File[], known: Map<string, JsonlTrace>): Promise<void> {
  const steps = (file: File) => (/steps/i.test(file.name) ? 0 : 1);
  let filled = 0;
  for (const file of [...files].sort((a, b) => steps(a) - steps(b))) {
    const name = traceName(file.name);
    const trace = known.get(name) ?? new JsonlTrace(name);
    let lines = 0, used = 0;
    await eachLine(file.stream(), (line, number) => {
      try {
        if (line.trim() !== "") lines += 1;
        if (trace.add(line)) used += line.trim() === "" ? 0 : 1;
      } catch (error) {
        throw new Error(`${file.name}, line ${number}: ${error instanceof Error ? error.message : String(error)}`);
      }
    });
    if (lines === 0) continue; // for example a cell without events
    if (used === 0) throw new Error(`${file.name}: no line of it belongs to a trace (step_snapshot, step_decision, ...)`);
    known.set(name, trace);
    filled += 1;
  }
  if (filled === 0 && files.length > 0) throw new Error(`${files.map((file) => file.name).join(", ")}: empty`);
}
