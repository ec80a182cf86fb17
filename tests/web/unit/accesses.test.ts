import { describe, expect, it } from "vitest";

import { place, shownText, type AccessChart } from "@/report/accesses_data";

const marks = (count: number): AccessChart["marks"] => {
  const zeros = Array.from({ length: count }, () => 0);
  return {
    t_ns: zeros, dur_ns: zeros, step: zeros, kind: zeros, block: zeros, first_slot: zeros, n_slots: zeros, kv_head: zeros, job: zeros,
  };
};

const chart = (more: Partial<AccessChart> = {}): AccessChart => ({
  kind: "MEASURED (cpu)", gpu: "h200-141gb", label: "", cell: 0, stopped_step: null, records: 2000, layer: 3, steps: [1, 2, 5], in_steps: 1000,
  marks: marks(1000), cuts: [[100, 80], [400, 280]], kept_pause_ns: 20, blocks: 1, keys: [], values: [], window_use: [], forwards: 0, ...more,
});

describe("the place of a time whose pauses are cut", () => {
  it("is the time itself before the first cut", () => {
    expect(place(chart(), 0)).toBe(0);
    expect(place(chart(), 100)).toBe(100);
  });

  it("loses what is cut of every pause before it", () => {
    expect(place(chart(), 200)).toBe(120);
    expect(place(chart(), 300)).toBe(220);
    expect(place(chart(), 700)).toBe(340);
  });

  it("ascends within a pause", () => expect(place(chart(), 150)).toBeCloseTo(110));
});

describe("what is said of a log", () => {
  it("is which part of it is shown", () => {
    expect(shownText(chart())).toBe("Layer 3, steps 1 to 5: 1,000 of the cell's 2,000 records. Every access is drawn.");
    expect(shownText(chart({ steps: [7] }))).toContain("Layer 3, step 7:");
  });

  it("is how it was thinned, and where logging stopped", () => {
    const text = shownText(chart({ marks: marks(300), stopped_step: 9 }));
    expect(text).toContain("One access of each 4 is drawn, picked at random.");
    expect(text).toContain("Logging stopped before step 9.");
  });
});
