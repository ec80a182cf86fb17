import { describe, expect, it } from "vitest";

import { readTraces } from "@/viewer/files";
import type { JsonlTrace } from "@/viewer/jsonl";

import { Lines } from "./traces";

const file = (name: string, text: string) => Object.assign(new Blob([text]), { name }) as unknown as File;

const steps = () => new Lines().next({ a: 8 }, [], { fresh: ["a"] }).next({ a: 1 }).text().join("\n");

describe("files of a trace", () => {
  it("are read whatever their order, and one may be empty as the events of a cell without any are", async () => {
    const traces = new Map<string, JsonlTrace>();
    await readTraces([file("x.events.jsonl", ""), file("x.requests.jsonl", "\n"), file("x.steps.jsonl", steps())], traces);
    expect([...traces.keys()]).toEqual(["x"]);
    expect(traces.get("x")?.trace().steps.n).toBe(2);
  });

  it("are refused by name when all are empty or a line belongs to no trace", async () => {
    await expect(readTraces([file("x.steps.jsonl", "")], new Map())).rejects.toThrow("x.steps.jsonl: empty");
    await expect(readTraces([file("y.steps.jsonl", '{"event":"weather"}')], new Map())).rejects.toThrow("y.steps.jsonl: no line of it");
    await expect(readTraces([file("z.steps.jsonl", "\n{")], new Map())).rejects.toThrow("z.steps.jsonl, line 2");
  });
});
