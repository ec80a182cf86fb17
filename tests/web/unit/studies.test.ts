import { describe, expect, it } from "vitest";

import { figuresOf, footOf, isNumeric, ours, places, theirs, type StudyChart, type StudyPanel } from "@/report/studies_data";

const series = (name: string, points: [string, number][], published: [string, number][] = []) =>
  ({ name, external: "", points: points.map(([x, y]) => [x, y, y, y, 1] as [string, number, number, number, number]), published, t: [], level: [] });

const panel = (...all: StudyPanel["series"]): StudyPanel => ({ name: "", series: all, marks: [], spans: [] });

const chart = (panels: StudyPanel[], more: Partial<StudyChart> = {}): StudyChart => ({
  study: "s", figure: "1", title: "t", source: "somebody, 2025", note: "", kind: "MODELLED (sim)", gpu: "", over: "cells", draw: "lines",
  x_name: "x", y_name: "y", log_x: false, log_y: false, experiments: ["e"], remarks: [], externals: [], panels, ...more,
});

describe("the places of a figure", () => {
  it("ascend where all are numbers, published ones included", () => {
    const one = panel(series("a", [["512", 1], ["16", 2]], [["128", 3]]));
    expect(places(one)).toEqual(["16", "128", "512"]);
    expect(isNumeric(places(one))).toBe(true);
  });

  it("keep the order in which names come", () => {
    const one = panel(series("a", [["off", 1], ["8192", 2]], [["32", 3]]), series("b", [["off", 4]]));
    expect(places(one)).toEqual(["off", "8192", "32"]);
    expect(isNumeric(places(one))).toBe(false);
  });

  it("are none without points", () => expect(isNumeric(places(panel()))).toBe(false));
});

describe("what stands at a place", () => {
  const one = series("a", [["1", 5]], [["2", 7]]);
  it("is our value, the published one, or nothing", () => {
    expect(ours(one, "1")?.[1]).toBe(5);
    expect(theirs(one, "1")).toBeNull();
    expect(ours(one, "2")).toBeUndefined();
    expect(theirs(one, "2")).toBe(7);
  });
});

describe("the foot of a figure", () => {
  it("names the publication if published values are drawn, and only then", () => {
    expect(footOf(chart([panel(series("a", [["1", 5]], [["1", 7]]))]))).toContain("Published: somebody, 2025.");
    expect(footOf(chart([panel(series("a", [["1", 5]]))]))).toBe("");
  });

  it("says what the program remarked", () => {
    expect(footOf(chart([panel()], { note: "An input.", remarks: ["cells differ in jps"] }))).toBe("An input. cells differ in jps.");
  });
});

describe("what the numbers of a series are", () => {
  it("is the chart's kind for cells, and never for a result from elsewhere", () => {
    const own = series("a", [["1", 5]]);
    const other = { ...series("b", [["1", 7]]), external: "MEASURED (torch)" };
    const one = chart([panel(own, other)]);
    expect(figuresOf(one, own)).toBe("MODELLED (sim)");
    expect(figuresOf(one, other)).toBe("EXTERNAL: MEASURED (torch)");
  });
});
