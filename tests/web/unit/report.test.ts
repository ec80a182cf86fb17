import { readFileSync } from "node:fs";

import { paperSize } from "@/report/card";
import { chartAt, complete, panelsAlone, without, type Chart, type Series } from "@/charts/chart";
import {
  ALL, questionsOf, rateText, sweepsOf, type Group, type Panel, type Report,
} from "@/report/data";
import { axisTip, coinciding, csvOf, keysOf, nice } from "@/charts/draw";
import { designsOf, shortened } from "@/report/folds";
import { brief } from "@/charts/parts";
import { Store } from "@/report/state";
import { csvOfTables, type Table } from "@/report/tables";
import { even, num, percent } from "@/shared/format";
import { policyLook } from "@/shared/policy_looks";

function group(jps: string, variant: string, dram: string): Group {
  return { variant, repeats: 1, jps, dram, label: "", from: "cell 0 of a.h5", p99: "", worse: "", figures: { jct_wall_mean_s: { unit: "s", mean: 1, interval: null, ratio: null, ratio_interval: null, published: null, standing: "" } } };
}

function panel(gpu: string, kind = "MODELLED (sim)"): Panel {
  const groups = ["1", "10"].flatMap((jps) => [
    group(jps, "fcfs", "-"), group(jps, "lmcache-16G", "16"), group(jps, "lmcache-128G", "128"),
  ]);
  const variants = ["fcfs", "lmcache-16G", "lmcache-128G"];
  return {
    kind, gpu, name: gpu, settings: "", devices: "", rates: ["1", "10"], variants, groups, acts: [], charts: [], sources: [], remarks: [],
  };
}

function report(): Report {
  return {
    format: "kvsweep-report", version: 1, program: "", archives: [], panels: [panel("a"), panel("b")], answer: [], answer_heading: "", regimes: [], tables: [],
    claim_sources: [], lacks: false, coverage: "", studies: [], accesses: [], accesses_left_out: [],
  };
}

describe("a sweep in several archives", () => {
  const asked = [
    { sweep: "pool", question: "Which?" }, { sweep: "chunk", question: "" }, { sweep: "pool", question: "Which?" },
  ];

  it("is named once", () => {
    expect(sweepsOf(asked)).toEqual(["pool", "chunk"]);
  });

  it("asks once", () => {
    expect(questionsOf(asked)).toEqual(["Which?", "Sweep chunk."]);
  });
});

describe("panels of a design", () => {
  const labelled = (label: string, settings: string, kind?: string): Panel => {
    const made = panel("a", kind);
    return { ...made, settings, groups: made.groups.map((each) => ({ ...each, label })) };
  };

  it("are called by what they differ in, and share the rest", () => {
    const panels = ["1", "2"].map((n) =>
      labelled(`gpu=a model=m policy=fcfs workload.n=${n}`, `model=m, workload.n=${n}, workload.requests=1+1 2+${n}, workload.seed=7`));
    const [design, ...others] = designsOf(panels);
    expect(others).toEqual([]);
    expect([design!.shared, design!.varied]).toEqual(["model=m, workload.seed=7", "workload.n, workload.requests"]);
    expect(panels.map((each) => shortened(each, design!).settings))
      .toEqual(["workload.n=1, workload.requests=1+1 2+1", "workload.n=2, workload.requests=1+1 2+2"]);
  });

  it("sweep the same axes, whatever their card and policy, and are of one kind", () => {
    const panels = [
      labelled("gpu=a policy=fcfs workload.n=1", "workload.n=1"), labelled("gpu=b policy=swap dram_gib=64 workload.n=2", "workload.n=2"),
      labelled("gpu=a policy=fcfs model=m", "model=m"), labelled("gpu=a policy=fcfs workload.n=1", "workload.n=1", "MEASURED (cpu)"),
    ];
    expect(designsOf(panels).map((each) => each.panels.length)).toEqual([2, 1, 1]);
  });

  it("keep no name of their own when one is alone", () => {
    const alone = labelled("gpu=a model=m", "model=m, workload.n=1");
    const [design] = designsOf([alone]);
    expect([design!.shared, design!.varied, shortened(alone, design!).settings]).toEqual(["model=m, workload.n=1", "", ""]);
  });
});

describe("the state of the page", () => {
  it("comes back from its address", () => {
    const store = new Store(report(), "");
    store.set({
      panel: 1, rate: "10", focus: "lmcache-16G", x: "total", turns: "sum",
      all_claims: true,
    });
    store.toggle("fcfs");
    const again = new Store(report(), store.address());
    expect(again.state).toEqual(store.state);
    expect(again.visible).toEqual(["lmcache-16G", "lmcache-128G"]);
  });

  it("survives an address that means nothing here", () => {
    const { state } = new Store(report(), "#panel=7&rate=99&focus=none&metric=<b>");
    expect(state).toMatchObject({
      panel: 0, rate: "10", focus: "lmcache-128G", metric: "jct_wall_mean_s",
    });
  });

  it("follows an address that the reader edits", () => {
    const store = new Store(report(), "");
    let heard = 0;
    store.onChange(() => ++heard);
    store.goTo("#panel=1&hide=fcfs");
    expect(store.state.panel).toBe(1);
    expect(store.visible).not.toContain("fcfs");
    expect(heard).toBe(1);
  });

  it("shows a policy with a host tier in detail, since only those move KV", () => {
    expect(new Store(report(), "").state.focus).toBe("lmcache-128G");
    const none = { ...report(), panels: [{ ...panel("a"), variants: ["fcfs", "continuum"], groups: [group("1", "fcfs", "-")] }] };
    expect(new Store(none, "").state.focus).toBe("continuum");
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

const series = (name: string, ys: (number | null)[], more: Partial<Series> = {}): Series =>
  ({ name, draw: "line", x: ys.map((_, i) => i), y: ys, ...more });

const chart = (...all: Series[]): Chart => ({
  id: "turns", title: "t", note: "", kind: "MODELLED (sim)", gpu: "a", settings: "", jps: "6", at: {}, columns: 1,
  panels: [{ name: "", x: { name: "turn" }, y: { name: "duration [s]" }, series: all }],
});

describe("a chart", () => {
  it("is the one that the choices name, and of a choice that it does not have the same for all", () => {
    const of = (at: Record<string, string>): Chart => ({ ...chart(), at });
    const charts = [of({ rate: "1", turns: "each" }), of({ rate: "6", turns: "each" }), of({ rate: "6", turns: "sum" })];
    expect(chartAt(charts, "turns", { rate: "6", turns: "sum", policy: "fcfs" })).toBe(charts[2]);
    expect(chartAt(charts, "turns", { rate: "9", turns: "sum" })).toBeUndefined();
    expect(chartAt(charts, "jct", { rate: "6", turns: "sum" })).toBeUndefined();
  });

  it("has the x of the series before where a series has none", () => {
    const { x: _, ...without_x } = series("b", [3, 4]);
    const made = chart(series("a", [1, 2], { x: [5, 6] }), without_x as Series, series("c", [1]));
    complete([made]);
    expect(made.panels[0]?.series.map(({ x }) => x)).toEqual([[5, 6], [5, 6], [0]]);
  });

  it("loses the policies that the reader hides: their series, their places and the panels that bear their names", () => {
    const lines = chart(series("fcfs", [1], { policy: "fcfs" }), series("pin", [2], { policy: "pin" }));
    expect(without(lines, new Set(["pin"])).panels[0]?.series.map(({ name }) => name)).toEqual(["fcfs"]);
    expect(without(lines, new Set(["pin", "fcfs"])).nothing).toBe("No policy is shown.");
    const [panel] = chart(series("queue", [1, 2, 3])).panels;
    const parts = { ...chart(), panels: [{ ...panel!, x: { name: "policy", names: ["a", "b", "c"], of_policies: true } }] };
    const [left] = without(parts, new Set(["b"])).panels;
    expect([left?.x.names, left?.series[0]?.x, left?.series[0]?.y]).toEqual([["a", "c"], [0, 1], [1, 3]]);
    const gap = { ...chart(), panels: [{ ...panel!, name: "fcfs" }, { ...panel!, name: "pin" }] };
    expect(without(gap, new Set(["pin"])).panels.map(({ name }) => name)).toEqual(["fcfs"]);
    expect(panelsAlone(gap).map(({ title }) => title)).toEqual(["t, fcfs", "t, pin"]);
  });

  it("has its numbers as columns, with their source, kind and repeats", () => {
    const rows = csvOf(chart(series("fcfs", [5, 6], { policy: "fcfs", repeats: 2, more: { turns: [8, 9] } })));
    expect(Object.fromEntries(rows.map(({ name, values }) => [name, Array.from(values)]))).toEqual({
      policy: ["fcfs", "fcfs"], turn: [0, 1], "duration [s]": [5, 6], turns: [8, 9], figures: ["MODELLED (sim)", "MODELLED (sim)"],
      gpu: ["a", "a"], settings: ["", ""], jps: ["6", "6"], repeats: [2, 2],
    });
  });

  it("never calls numbers from elsewhere by the kind of its cells", () => {
    const rows = csvOf(chart(series("a", [1]), series("b", [1], { source: "published" })));
    expect(rows.find(({ name }) => name === "figures")?.values).toEqual(["MODELLED (sim)", "published"]);
  });
});

it("curves that hide each other are named, others and dots are not", () => {
  expect(coinciding(chart(series("a", [2, 4]), series("b", [2.001, 4]), series("c", [2, 4.1])))).toBe("The curves of a and b coincide.");
  expect(coinciding(chart(series("a", [1, 2]), series("b", [1, 2]), series("c", [1, 2]), series("d", [7, 9]), series("e", [7, 9])))).toBe(
    "The curves of a, b and c, those of d and e coincide.");
  expect(coinciding(chart(series("a", [2, 4]), series("b", [2, 4], { x: [0, 3] })))).toBe("");
  expect(coinciding(chart(series("a", [1, 2], { draw: "bars" }), series("b", [1, 2], { draw: "bars" }), series("c", [1]), series("d", [1])))).toBe("");
});

it("a legend names what is drawn once, and nothing that is quiet", () => {
  vi.stubGlobal("document", { documentElement: {} });
  vi.stubGlobal("getComputedStyle", () => ({ getPropertyValue: () => "#123456" }));
  const keys = keysOf([series("a", [1]), series("a", [2]), series("b", [1], { quiet: true }), series("c", [1], { draw: "bars", hollow: true })], []);
  expect(keys.map(({ name, fill }) => [name, fill])).toEqual([["a", undefined], ["c", 0]]);
  const marked = keysOf([series("a", [1], { mark: "square" }), series("b", [1], { draw: "dots", mark: "right" }),
    series("c", [1], { draw: "dots", hollow: true }), series("d", [1], { draw: "dots" })], []);
  expect(marked.map(({ glyph, dash }) => [glyph, dash])).toEqual([["■", "solid"], ["▶", undefined], ["○", undefined], ["●", undefined]]);
  vi.unstubAllGlobals();
});

it("a chart that is higher than a sheet is drawn wider, and shrinks as a whole", () => {
  expect(paperSize(300)).toEqual({ width: 700, height: 300 });
  expect(paperSize(1560)).toEqual({ width: 1400, height: 1560 });
});

it("the rows of several tables are saved below each other, each with its kind and its cells", () => {
  const made = (kind: string, ...rows: string[][]): Table =>
    ({ part: "claims", heading: "set", kind, columns: ["claim", "ours"], numbers: [false, true], rows, notes: [], sources: rows.map(([id]) => `cell of ${id}`) });
  const columns = csvOfTables([made("MODELLED (sim)", ["R-1", "2"], ["R-2", "3"]), made("MEASURED (cpu)", ["R-1", "4"])]);
  expect(Object.fromEntries(columns.map(({ name, values }) => [name, Array.from(values)]))).toEqual({
    claim: ["R-1", "R-2", "R-1"], ours: ["2", "3", "4"], table: ["set", "set", "set"],
    figures: ["MODELLED (sim)", "MODELLED (sim)", "MEASURED (cpu)"], cells: ["cell of R-1", "cell of R-2", "cell of R-1"],
  });
  expect(csvOfTables([])).toEqual([]);
});

it("numbers are rounded as the program's tables round them", () => {
  const lines = readFileSync(new URL("./rounding.txt", import.meta.url), "utf8").trim().split("\n");
  expect(lines.length).toBeGreaterThanOrEqual(10);
  for (const [value = "", shown] of lines.map((line) => line.split(" "))) {
    expect(even(Number(value)).replace(",", ""), value).toBe(shown);
    expect(Number(num(Number(value)).replace(",", "")), value).toBe(Number(shown));
  }
  expect([1234567, 43.1, 10, 1500.5].map((value) => num(value))).toEqual(["1,234,567", "43.1", "10", "1,501"]);
});

it("numbers of a column line up, and margins have a decimal", () => {
  expect([43.1, 1151.2, 0, 0.12345, null].map((value) => even(value))).toEqual(["43.10", "1,151", "0", "0.1235", "–"]);
  expect([3.01, 0.128, 0.00041, null].map((value) => percent(value))).toEqual(["301 %", "12.8 %", "0.04 %", "–"]);
});

it("the tooltip of a place without a name has no title", () => {
  const formatter = axisTip((at) => `rate ${at}`);
  const item = (axisValueLabel: string) => ({ axisValueLabel, seriesName: "fcfs", value: 4, marker: "" });
  expect(formatter(item("3"))).toBe("rate 3<br> fcfs <b>4</b>");
  expect(formatter(item("-"))).toBe(" fcfs <b>4</b>");
  expect(formatter({ ...item("3"), value: ["3 jobs/s", 4] })).toBe("rate 3<br> fcfs <b>4</b>");
  expect(formatter({ ...item("3"), value: [5, 4] })).toBe("rate 5<br> fcfs <b>4</b>");
});

it("a logarithmic axis begins at 1, 2 or 5 times a power of ten", () => {
  expect([10, 19, 49, 51, 0.7].map((each) => nice(each, false))).toEqual([10, 10, 20, 50, 0.5]);
});

it("rates are said in words", () => {
  expect(["1", "6", "-", ALL].map(rateText)).toEqual(["1 job/s", "6 jobs/s", "no arrival rate", "all rates together"]);
});

it("labels of axes are short", () => {
  expect([0, 950, 5000, 20_000, 1_500_000, 2e9].map(brief)).toEqual(["0", "950", "5,000", "20k", "1.5M", "2G"]);
});

describe("the look of a policy", () => {
  it("is the same whatever else a report shows", () => {
    expect(policyLook(["lmcache-16G", "fcfs"], "fcfs")).toEqual(policyLook(["fcfs"], "fcfs"));
  });

  it("has one color for the variants of a policy, and a dash for each", () => {
    const variants = ["cpu_offload-16G", "fcfs", "cpu_offload-128G"];
    const [small, large] = ["cpu_offload-16G", "cpu_offload-128G"].map((each) => policyLook(variants, each));
    expect(small?.color).toBe(large?.color);
    expect(small?.dash).not.toBe(large?.dash);
  });

  it("of an unknown policy follows from its name", () => {
    expect(policyLook(["mine", "fcfs"], "mine")).toEqual(policyLook(["mine"], "mine"));
  });
});
