import { index } from "@/viewer/indexed";
import { viewStep } from "@/viewer/step_view";
import { Lines } from "./traces";

const seen = (lines: Lines, row: number) => viewStep(index(lines.trace()), row);
/** As the trace names them: it counts turns from 0, pages from 1. */
const names = (requests: { job: string; number: number }[]) => requests.map((each) => `${each.job}:${each.number - 1}`);

describe("a step", () => {
  const lines = new Lines()
    .next({ "a:0": 100 }, ["b:0"], { fresh: ["a:0"] })
    .next({ "a:0": 1 }, ["b:0"])
    .next({ "a:0": 1, "b:0": 40 }, [], { fresh: ["b:0"] })
    .next({ "a:0": 1, "b:0": 1 });

  it("lists running turns with their tokens, and waiting turns", () => {
    const first = seen(lines, 0);
    expect(names(first.running)).toEqual(["a:0"]);
    expect(names(first.waiting)).toEqual(["b:0"]);
    expect(first.running[0]).toMatchObject({ kind: "new", tokens: 100 });
  });

  it("knows how long a request has waited, and forgets it once it runs", () => {
    expect(seen(lines, 1).waiting[0]?.since).toBe(0);
    expect(seen(lines, 2).waiting).toEqual([]);
    expect(seen(lines, 2).running.map((each) => each.tokens)).toEqual([1, 40]);
  });

  it("says why admission stopped", () => {
    expect(seen(lines, 0).stop).toBe("kv_insufficient");
    expect(seen(lines, 3).stop).toBe("none");
  });

  it("lists a preempted request as such and as waiting, not as running", () => {
    const step = seen(new Lines().next({ "a:0": 5, "b:0": 5 }).next({ "a:0": 1 }, ["b:0"], { preempted: ["b:0"] }), 1);
    expect(names(step.preempted)).toEqual(["b:0"]);
    expect(names(step.waiting)).toEqual(["b:0"]);
    expect(names(step.running)).toEqual(["a:0"]);
  });

  it("of a trace that was taken before scheduling shows whom the step admitted as running", () => {
    const lines = new Lines().next({ "a:0": 9 }, [], { fresh: ["a:0"] }).text();
    const before = lines.map((line) => line.replace('"running_req_ids":["a:0"],"waiting_req_ids":[]', '"running_req_ids":[],"waiting_req_ids":["a:0"]'));
    const early = new Lines();
    early.text = () => before;
    expect(names(seen(early, 0).running)).toEqual(["a:0"]);
    expect(seen(early, 0).waiting).toEqual([]);
  });
});

describe("pins", () => {
  it("are held from the step at whose start they begin, until the one at whose start they end", () => {
    const lines = new Lines().next({}).event("pin", "a", { deadline: 3 }).next({}).next({}).event("unpin", "a").next({});
    expect([0, 1, 2, 3].map((row) => seen(lines, row).pins.length)).toEqual([1, 1, 0, 0]);
  });

  it("that begin while a step runs are seen in the next", () => {
    const lines = new Lines().next({}).event("pin", "a", { deadline: 9 }, 0.5).next({});
    expect(seen(lines, 0).pins).toEqual([]);
    expect(seen(lines, 1).pins[0]).toMatchObject({ deadline: 9, since: 1.5 });
  });
});

describe("copies", () => {
  it("are in flight until as many bytes have moved as were asked for before them and by them", () => {
    const lines = new Lines()
      .next({}, [], { bytes: 60 }).event("store", "a", { bytes: 100 }).event("store", "b", { bytes: 50 })
      .next({}, [], { bytes: 60 })
      .next({}, [], { bytes: 30 })
      .next({});
    const inFlight = [0, 1, 2, 3].map((row) => seen(lines, row).transfers.map((each) => each.bytes));
    expect(inFlight).toEqual([[150], [150], [50], []]);
  });

  it("that failed are not in flight", () => {
    const lines = new Lines().next({}).event("load", "a", { bytes: 5, reason: "load_failed" });
    expect(seen(lines, 0).transfers).toEqual([]);
  });
});
