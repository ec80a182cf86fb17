import { readFileSync } from "node:fs";

import { againText } from "@/report/archives";
import { paperSize } from "@/report/card";
import { byDistance, refuted, verdicts } from "@/report/claims";
import { highestTurn, withDram } from "@/report/compare";
import {
  ALL, dramSizes, poolOf, questionsOf, rateText, repeatsOf, sweepsOf, timeLine, type Acts, type ClaimRow, type Group, type Mean, type Panel, type Pool, type Report,
  type Service, type Story,
} from "@/report/data";
import { axesOf, fixed, itemsOf, valuesOf } from "@/report/explore";
import { designsOf, shortened } from "@/report/folds";
import { gapRows, spansOf } from "@/report/gap";
import { durations, niceBelow } from "@/report/jobs";
import { axisTip, brief, coinciding, sourced, table } from "@/report/parts";
import { highestRate, onFront } from "@/report/service";
import { Store } from "@/report/state";
import { outline } from "@/report/steps";
import { even, num, percent } from "@/shared/format";
import { policyLook } from "@/shared/policy_looks";

const sizes = () => ({ histogram: [], fit: { slope_us: null, intercept_ms: null, r2: null, n: 0 } });

function pool(variant: string, latencies: number[]): Pool {
  return {
    variant, repeats: 1, total: sizes(), largest: sizes(), turns: latencies.map((s) => [1, s, s, 0, 0, 0, 0]), jobs: 1, jct: [], parts: [],
  };
}

const acts: Acts = {
  pins: 0, pins_used: 0, evicted_blocks: 0, host_evicted_blocks: 0, prefetches: 0, overtaking: 0, pinned: 0, gpu_hits: 0, host_hits: 0,
  recomputed_tok: 0, preemptions: 0, stalled: 0,
};

function service(attained: number): Service {
  const all = (): [Mean, Mean, Mean] => [[1, null], [2, null], [3, null]];
  return { jct: all(), ttft: all(), tpot: all(), queue: all(), attained: [attained, null], goodput: [attained, null] };
}

function group(jps: string, variant: string, dram: string, latencies: number[]): Group {
  return { ...pool(variant, latencies), jps, dram, cells: [], from: "cell 0 of a.h5", p99: "", worse: "", figures: { jct_wall_mean_s: { unit: "s", mean: 1, interval: null, ratio: null, ratio_interval: null, published: null, standing: "" } }, times: [], service: service(1), acts };
}

function panel(gpu: string, kind = "MODELLED (sim)"): Panel {
  const groups = ["1", "10"].flatMap((jps) => [
    group(jps, "fcfs", "-", [1, 2]), group(jps, "lmcache-16G", "16", [3, 4]), group(jps, "lmcache-128G", "128", [5, 7]),
  ]);
  const variants = ["fcfs", "lmcache-16G", "lmcache-128G"];
  return {
    kind, gpu, name: gpu, settings: "", devices: "", rates: ["1", "10"], variants, groups, pooled: variants.map((name) => pool(name, [9])),
    all: [pool("", [])], gaps: [], sources: [], remarks: [],
  };
}

function report(): Report {
  return {
    format: "kvsweep-report", version: 1, program: "", archives: [], panels: [panel("a"), panel("b")], answer: [], answer_heading: "", against: [], declared: [], why: [], edges: [], overridden: [], idle: [], commands: [], goals: "", regimes: [], claims: [],
    claim_sources: [], missing: [], coverage: "", published_fits: [], studies: [], externals: [], accesses: [], accesses_left_out: [],
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

describe("the outline of a log histogram", () => {
  it("falls to the floor where bins are empty", () => {
    expect(outline([[1, 2, 5], [4, 5, 7]])).toEqual([[1, 0.5], [1, 5], [2, 0.5], [4, 7], [5, 0.5]]);
  });

  it("puts steps without tokens left of one", () => {
    expect(outline([[0, 1, 3]])[0]).toEqual([0.5, 0.5]);
  });

  it("of nothing is nothing", () => expect(outline([])).toEqual([]));
});

describe("panels of a design", () => {
  const labelled = (label: string, settings: string, kind?: string): Panel => {
    const made = panel("a", kind);
    const cell = { index: 0, key: "", label, seed: 1 };
    return { ...made, settings, groups: made.groups.map((each) => ({ ...each, cells: [cell] })) };
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
      panel: 1, rate: "10", focus: "lmcache-16G", x: "total", turns: "sum", left: 1, right: 0, less: "128", more: "16", at: "1",
      all_turns: true, each_fit: true, all_claims: true,
    });
    store.toggle("fcfs");
    const again = new Store(report(), store.address());
    expect(again.state).toEqual(store.state);
    expect(again.visible).toEqual(["lmcache-16G", "lmcache-128G"]);
  });

  it("survives an address that means nothing here", () => {
    const { state } = new Store(report(), "#panel=7&rate=99&focus=none&repeat=5&metric=<b>&left=9&right=x&less=7&more=&at=2");
    expect(state).toMatchObject({
      panel: 0, rate: "10", focus: "lmcache-128G", repeat: 0, metric: "jct_wall_mean_s", left: 0, right: 1, less: "16", more: "128", at: "10",
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
    const none = { ...report(), panels: [{ ...panel("a"), variants: ["fcfs", "continuum"], groups: [group("1", "fcfs", "-", [1])] }] };
    expect(new Store(none, "").state.focus).toBe("continuum");
  });

  it("puts only panels of one kind side by side", () => {
    const mixed = { ...report(), panels: [panel("a"), panel("b", "MEASURED (cuda)"), panel("c"), panel("d", "MEASURED (cuda)")] };
    expect(new Store(mixed, "").state).toMatchObject({ left: 0, right: 2 });
    expect(new Store(mixed, "#left=1&right=2").state).toMatchObject({ left: 1, right: 3 });
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

describe("one gap", () => {
  const story: Story = {
    variant: "p", finish: 10, return: 11, admit: 11, first: 12, end: 14, context: 64, found_gpu: 0, found_host: 0, computed: 64,
    load_stall: null, recompute: null, gpu: [[10, 64], [11, 0]], host: [], pinned: [[10, 10.5]],
  };

  it("has the stages that took time, and the pins", () => {
    expect(spansOf(story)).toEqual([
      { what: "tool", from: 0, to: 1 }, { what: "load and prefill", from: 1, to: 2 }, { what: "decode", from: 2, to: 4 },
      { what: "pinned", from: 0, to: 0.5 },
    ]);
  });

  it("is a table of what was where from when to when, stages and pins included", () => {
    const rows = gapRows([story]);
    expect(rows.slice(0, 2)).toEqual([
      { policy: "p", what: "KV on the GPU", from: 0, to: 1, tokens: 64 }, { policy: "p", what: "KV on the GPU", from: 1, to: 4, tokens: 0 },
    ]);
    expect(rows.map((row) => row.what)).toEqual(["KV on the GPU", "KV on the GPU", "tool", "load and prefill", "decode", "pinned"]);
  });
});

it("a CSV of a chart has the source and kind of its numbers, and how many repeats", () => {
  const columns = sourced(panel("a"), table([5, 6], { s: (row) => row }), () => "10", (row) => row + 1);
  expect(Object.fromEntries(columns.map((each) => [each.name, each.values]))).toEqual({
    s: [5, 6], gpu: ["a", "a"], settings: ["", ""], jps: ["10", "10"], figures: ["MODELLED (sim)", "MODELLED (sim)"], repeats: [1, 2],
  });
});

it("turns add up, and what was not observed stays a gap", () => {
  const turns = [1, null, 3].map((mean) => [1, mean, mean, 0, 0, 0, 0] as [number, number | null, number | null, 0, 0, 0, 0]);
  expect(durations(turns, false)).toEqual([1, null, 3]);
  expect(durations(turns, true)).toEqual([1, null, 4]);
});

it("verdicts are counted, most first", () => {
  const rows = ["undecided", "reproduced", "undecided"].map((verdict) => ({ verdict }) as ClaimRow);
  expect(verdicts(rows)).toBe("2 undecided, 1 reproduced");
});

it("what is furthest from its text comes first, on either side, and what has no number last", () => {
  const rows = [0.1, null, -0.5, 0, 0.5].map((distance, i) => ({ id: `R-${i}`, distance }) as ClaimRow);
  expect(byDistance(rows).map(({ id }) => id)).toEqual(["R-2", "R-4", "R-0", "R-3", "R-1"]);
});

it("curves that hide each other are named, others and published dots are not", () => {
  const line = (name: string, ys: unknown[], type = "line") => ({ name, type, data: ys });
  const option = (...series: object[]) => ({ series });
  expect(coinciding(option(line("a", [[1, 2], [2, 4]]), line("b", [[1, 2.001], [2, 4]]), line("c", [[1, 2], [2, 4.1]])))).toBe(
    "The curves of a and b coincide.");
  expect(coinciding(option(line("a", [1, 2]), line("b", [1, 2]), line("c", [1, 2]), line("d", [7, 9]), line("e", [7, 9])))).toBe(
    "The curves of a, b and c, those of d and e coincide.");
  expect(coinciding(option(line("a", [[1, 2], [2, 4]]), line("b", [[1, 2], [3, 4]])))).toBe("");
  expect(coinciding(option(line("a", [1, 2], "bar"), line("b", [1, 2], "bar"), line("c", [1]), line("d", [1])))).toBe("");
});

it("a chart that is higher than a sheet is drawn wider, and shrinks as a whole", () => {
  expect(paperSize(300)).toEqual({ width: 700, height: 300 });
  expect(paperSize(1560)).toEqual({ width: 1400, height: 1560 });
});

it("a claim that is refuted at several places is named once", () => {
  const rows = [["R-1", "refuted"], ["R-1", "refuted"], ["R-2", "reproduced"], ["R-3", "refuted"]]
    .map(([id, verdict]) => ({ set: "page", id, verdict }) as ClaimRow);
  expect(refuted(rows)).toBe("page R-1, page R-3");
  expect(refuted([])).toBe("");
});

describe("the command that runs one cell again", () => {
  it("is that of the archive's last run of a sweep, without what was of that run alone", () => {
    const runs = [
      "run old.toml", "run a.toml --set repeat.n=3 --resume --only jps=1 --archive m.h5", "merge a.h5 b.h5",
    ].map((command): [string, string][] => [["host", "x"], ["command", command]]);
    expect(againText(runs)).toBe("kvsweep run a.toml --set repeat.n=3 --cell CELL --archive cell.h5");
    expect(againText(runs.slice(2))).toBe("");
  });

  it("quotes what a shell would take apart", () => {
    expect(againText([[["command", "run 'my sweep.toml' --set 'jps=[1, 2]'"]]]))
      .toBe("kvsweep run 'my sweep.toml' --set 'jps=[1, 2]' --cell CELL --archive cell.h5");
  });
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

it("a line over time is read from two digits a value, and from none where all are the same", () => {
  const line = (name: string, largest: number | null, codes: string) => ({ name, unit: "blk", largest, codes });
  const times = { end: 9, spans: 3, lines: [line("used", 8188, "AA//AB"), line("host", 7, ""), line("pinned", null, "")] };
  expect(timeLine(times, "used")).toEqual([0, null, 2]);
  expect(timeLine(times, "host")).toEqual([7, 7, 7]);
  expect(timeLine(times, "pinned")).toEqual([null, null, null]);
  expect(timeLine(times, "free")).toBe(undefined);
});

it("the tooltip of a place without a name has no title", () => {
  const { formatter } = axisTip((at) => `rate ${at}`, String);
  const item = (axisValueLabel: string) => ({ axisValueLabel, seriesName: "fcfs", value: 4, marker: "" });
  expect(formatter(item("3"))).toBe("rate 3<br> fcfs <b>4</b>");
  expect(formatter(item("-"))).toBe(" fcfs <b>4</b>");
  expect(formatter({ ...item("3"), value: ["3 jobs/s", 4] })).toBe("rate 3<br> fcfs <b>4</b>");
  expect(formatter({ ...item("3"), value: [5, 4] })).toBe("rate 5<br> fcfs <b>4</b>");
});

it("a logarithmic axis begins at 1, 2 or 5 times a power of ten", () => {
  expect([10, 19, 49, 51, 0.7].map(niceBelow)).toEqual([10, 10, 20, 50, 0.5]);
});

it("rates and repeats are said in words", () => {
  expect(["1", "6", "-", ALL].map(rateText)).toEqual(["1 job/s", "6 jobs/s", "no arrival rate", "all rates together"]);
  expect([[1], [2, 2], [1, 3], []].map((counts) => repeatsOf(counts.map((repeats) => ({ repeats }))))).toEqual([
    "1 repeat", "2 repeats", "1 to 3 repeats", "no repeat",
  ]);
});

it("labels of axes are short", () => {
  expect([0, 950, 5000, 20_000, 1_500_000, 2e9].map(brief)).toEqual(["0", "950", "5,000", "20k", "1.5M", "2G"]);
});

describe("objectives", () => {
  const served = (shares: Record<string, number>): Panel => {
    const groups = Object.entries(shares).map(([jps, share]) => ({ ...group(jps, "fcfs", "-", []), service: service(share) }));
    return { ...panel("a"), rates: Object.keys(shares), groups };
  };

  it("are kept up to the highest rate below which none fails", () => {
    expect(highestRate(served({ 1: 1, 3: 0.95, 6: 0.5, 10: 0.99 }), "fcfs")).toBe("3");
    expect(highestRate(served({ 1: 0.2, 3: 0.95 }), "fcfs")).toBe("");
  });
});

describe("the front of throughput and latency", () => {
  it("has what no other beats in both", () => {
    const places = [{ x: 1, y: 1 }, { x: 2, y: 2 }, { x: 1.5, y: 3 }];
    expect(places.map((each) => onFront(each, places))).toEqual([true, true, false]);
  });
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

describe("a chart of any figure", () => {
  const items = itemsOf([panel("a"), { ...panel("b"), settings: "workload.gap_s=5" }]);

  it("has every axis in which cells differ, with numbers in their order", () => {
    expect(axesOf(items)).toEqual(["policy", "policy without its memory", "arrival rate", "host memory", "GPU", "workload.gap_s"]);
    expect(valuesOf(items, "arrival rate")).toEqual(["1", "10"]);
    expect(valuesOf(items, "host memory")).toEqual(["-", "16", "128"]);
  });

  it("averages over no other axis: these have one value, which it names", () => {
    const shown = fixed(items, ["arrival rate", "policy"], { GPU: "b" });
    expect(shown.items.length).toBe(6);
    expect(shown.note).toBe("GPU b");
    const memory = fixed(items, ["host memory", "policy without its memory"], { GPU: "a", "arrival rate": "10" });
    expect(memory.items.map(({ group }) => group.variant)).toEqual(["fcfs", "lmcache-16G", "lmcache-128G"]);
  });
});
