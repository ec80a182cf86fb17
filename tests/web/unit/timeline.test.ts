import { timeline } from "@/viewer/bins";
import { timelineChart } from "@/viewer/timeline_chart";
import { Lines } from "./traces";

const values = (points: [number, number][]) => points.map(([, value]) => value);

describe("the timeline", () => {
  const lines = new Lines();
  for (let i = 0; i < 8; ++i) lines.next({ "a:0": 1, ...(i === 5 ? { "b:0": 11 } : {}) }, i === 2 ? ["c:0"] : []);
  const trace = lines.trace();

  it("has a point for every step and for the end of the last if there are few", () => {
    const all = timeline(trace, 0, 9, 100);
    expect(all.stepsPerPoint).toBe(1);
    expect(values(all.decode)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1]);
    expect(values(all.prefill)).toEqual([0, 0, 0, 0, 0, 11, 0, 0, 0]);
    expect(all.decode.at(-1)?.[0]).toBe(9);
  });

  it("shows the mean of tokens and the maximum of requests if steps share a point", () => {
    const few = timeline(trace, 1, 9, 2);
    expect(few.stepsPerPoint).toBeGreaterThan(1);
    const mean = values(few.prefill).slice(0, -1).reduce((sum, value) => sum + value, 0);
    expect(mean).toBeGreaterThan(0);
    expect(Math.max(...values(few.waiting))).toBe(1);
  });

  it("of a window has what is inside, and the step that reaches into it", () => {
    const window = timeline(trace, 3.5, 5.5, 100);
    expect(window.decode[0]?.[0]).toBe(3);
    expect(window.decode.length).toBeLessThan(6);
  });

  it("of a trace without steps is empty", () => {
    expect(timeline(new Lines().trace(), 0, 1, 10).running).toEqual([]);
  });
});

describe("the chart of a timeline", () => {
  it("has a lane for copies where KV moves, and no series that is zero throughout", () => {
    const lanes = (bytes: number) => timelineChart(new Lines().next({ "a:0": 5 }, [], { bytes }).next({ "a:0": 1 }).trace(), [0, 3], 3).panels;
    expect(lanes(0).map(({ name }) => name)).toEqual(["Tokens of a step", "Requests", "KV blocks"]);
    expect(lanes(9)[3]?.series.map(({ name }) => name)).toEqual(["to host"]);
    expect(lanes(0)[1]?.series.map(({ name }) => name)).toEqual(["running"]);
  });
});
