import { lanesOf, underParents } from "@/viewer/agents";
import { index } from "@/viewer/indexed";
import { viewJob } from "@/viewer/job_view";
import { Lines } from "./traces";

/** Turns as [number, agent, parent, arrival, end]. */
function traceOf(turns: [number, number, number, number, number][]) {
  const lines = new Lines();
  for (const [turn, agent, parent, arrive, finish] of turns) lines.turn(`a:${turn}`, arrive, finish, { agent, parent });
  return index(lines.trace());
}

const outline = (indexed: ReturnType<typeof index>) => viewJob(indexed, 0).turns.map(({ number, depth }) => `${"-".repeat(depth)}${number}`);
const numbers = (indexed: ReturnType<typeof index>, lanes: number[][]) => lanes.map((lane) => lane.map((row) => indexed.trace.turns.turn[row]));

describe("a job with subagents", () => {
  const two = traceOf([[0, 0, 0, 0, 1], [1, 1, 0, 1, 4], [2, 2, 0, 1.5, 3], [3, 1, 0, 5, 6], [4, 0, 0, 6, 7], [5, 3, 0, 7, 8], [6, 0, 0, 8, 9]]);

  it("has the turns of each below the turn that spawned it, and then goes on", () => {
    expect(outline(two)).toEqual(["1", "-2", "-4", "-3", "5", "-6", "7"]);
  });

  it("has as many lanes below the root's as subagents run at a time", () => {
    expect(numbers(two, lanesOf(two.trace.turns, two.turnsOfJob[0]!))).toEqual([[0, 4, 6], [1, 3, 5], [2]]);
  });

  it("may have subagents of subagents", () => {
    const deep = traceOf([[0, 0, 0, 0, 1], [1, 1, 0, 1, 2], [2, 2, 1, 2, 3], [3, 1, 0, 3, 4], [4, 0, 0, 4, 5]]);
    expect(outline(deep)).toEqual(["1", "-2", "--3", "-4", "5"]);
    expect(numbers(deep, lanesOf(deep.trace.turns, deep.turnsOfJob[0]!))).toEqual([[0, 4], [1, 3], [2]]);
  });

  it("shows every turn when the parent is missing or the agents name each other", () => {
    expect(outline(traceOf([[1, 1, 0, 1, 2]]))).toEqual(["-2"]);
    const knot = traceOf([[0, 0, 0, 0, 1], [1, 1, 2, 1, 2], [2, 2, 1, 1, 2]]);
    expect(outline(knot).map((line) => line.replace(/-/g, "")).sort()).toEqual(["1", "2", "3"]);
    expect(lanesOf(knot.trace.turns, knot.turnsOfJob[0]!).flat().length).toBe(3);
  });

  it("without subagents is one lane in the order of its turns", () => {
    const chain = traceOf([[1, 0, 0, 4, 5], [0, 0, 0, 0, 1]]);
    expect(outline(chain)).toEqual(["1", "2"]);
    expect(underParents(chain.trace.turns, chain.turnsOfJob[0]!).every(({ depth }) => depth === 0)).toBe(true);
    expect(lanesOf(chain.trace.turns, chain.turnsOfJob[0]!)).toHaveLength(1);
  });
});
