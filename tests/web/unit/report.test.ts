import { outline } from "@/report/charts";
import { dramSizes, highestTurn, withDram } from "@/report/compare";
import { ALL, poolOf, type Group, type Panel, type Pool, type Report } from "@/report/data";
import { brief } from "@/report/parts";
import { Store } from "@/report/state";

const sizes = () => ({ histogram: [], fit: { slope_us: null, intercept_ms: null, r2: null, n: 0 } });

function pool(variant: string, latencies: number[]): Pool {
  return {
    variant, repeats: 1, total: sizes(), largest: sizes(), turns: latencies.map((s) => [1, s, s, 0, 0, 0, 0]), jobs: 1, jct: [], parts: [],
  };
}

function group(jps: string, variant: string, dram: string, latencies: number[]): Group {
  return { ...pool(variant, latencies), jps, dram, cells: [], figures: { jct_wall_mean_s: { unit: "s", mean: 1, interval: null, ratio: null, ratio_interval: null, published: null, best: false } }, times: [] };
}

function panel(gpu: string): Panel {
  const groups = ["1", "10"].flatMap((jps) => [
    group(jps, "fcfs", "-", [1, 2]), group(jps, "lmcache-16G", "16", [3, 4]), group(jps, "lmcache-128G", "128", [5, 7]),
  ]);
  const variants = ["fcfs", "lmcache-16G", "lmcache-128G"];
  return {
    kind: "MODELLED (sim)", gpu, settings: "", devices: "", rates: ["1", "10"], variants, groups, pooled: variants.map((name) => pool(name, [9])),
    all: [pool("", [])], gaps: [], sources: [], remarks: [],
  };
}

function report(): Report {
  return {
    format: "kvsweep-report", version: 1, program: "", archives: [], panels: [panel("a"), panel("b")], regimes: [], claims: [],
    claim_sources: [], missing: [], published_fits: [],
  };
}

describe("the outline of a log histogram", () => {
  it("falls to the floor where bins are empty", () => {
    expect(outline([[1, 2, 5], [4, 5, 7]])).toEqual([[1, 0.5], [1, 5], [2, 0.5], [4, 7], [5, 0.5]]);
  });

  it("puts steps without tokens left of one", () => {
    expect(outline([[0, 1, 3]])[0]).toEqual([0.5, 0.5]);
  });

  it("of nothing is nothing", () => expect(outline([])).toEqual([]));
});

describe("the state of the page", () => {
  it("comes back from its address", () => {
    const store = new Store(report(), "");
    store.set({ panel: 1, rate: "10", focus: "lmcache-16G", x: "total" });
    store.toggle("fcfs");
    const again = new Store(report(), store.address());
    expect(again.state).toEqual(store.state);
    expect(again.visible).toEqual(["lmcache-16G", "lmcache-128G"]);
  });

  it("survives an address that means nothing here", () => {
    const { state } = new Store(report(), "#panel=7&rate=99&focus=none&repeat=5&metric=<b>");
    expect(state).toMatchObject({ panel: 0, rate: ALL, focus: "lmcache-16G", repeat: 0, metric: "jct_wall_mean_s" });
  });

  it("shows the cells of the highest rate over time where all rates are together", () => {
    expect(new Store(report(), "").cellRate).toBe("10");
    expect(new Store(report(), "#rate=1").cellRate).toBe("1");
  });

  it("tells its listeners once for each change", () => {
    const store = new Store(report(), "");
    let heard = 0;
    store.onChange(() => ++heard);
    store.toggle("fcfs");
    store.toggle("fcfs");
    expect(heard).toBe(2);
    expect(store.visible).toHaveLength(3);
  });
});

describe("policies side by side", () => {
  it("are those without host memory and those with this much", () => {
    expect(withDram(panel("a"), "1", "16", panel("a").variants)).toEqual(["fcfs", "lmcache-16G"]);
    expect(dramSizes(panel("a"))).toEqual(["16", "128"]);
  });

  it("share an axis that ends above the highest of them", () => {
    expect(highestTurn([{ panel: panel("a"), dram: "128" }], "1", 8, new Set())).toBe(7);
    expect(highestTurn([{ panel: panel("a"), dram: "128" }], "1", 8, new Set(["lmcache-128G"]))).toBe(2);
    expect(highestTurn([], "1", 8, new Set())).toBeNull();
  });

  it("of all rates together come from the pool that the program made", () => {
    expect(poolOf(panel("a"), ALL, "fcfs")?.turns).toHaveLength(1);
    expect(poolOf(panel("a"), "1", "fcfs")?.turns).toHaveLength(2);
    expect(poolOf(panel("a"), "1", "nobody")).toBeUndefined();
  });
});

it("labels of axes are short", () => {
  expect([0, 950, 5000, 20_000, 1_500_000, 2e9].map(brief)).toEqual(["0", "950", "5,000", "20k", "1.5M", "2G"]);
});
