import { traceName } from "@/viewer/files";
import { index } from "@/viewer/indexed";
import { findJobs, viewJob } from "@/viewer/job_view";
import { JsonlTrace } from "@/viewer/jsonl";
import { readPlace, writePlace } from "@/viewer/link";
import { Lines } from "./traces";

describe("a job", () => {
  const lines = new Lines()
    .next({ "a:1": 1, "b:0": 1 }).event("evict_gpu", "a", { by_job_id: "b", by_req_id: "b:0", blocks: 7 })
    .turn("a:1", 5, 7).turn("a:0", 1, 3).turn("b:0", 1, 9);
  const indexed = index(lines.trace());

  it("has its turns in their order, with what their time went into", () => {
    const job = viewJob(indexed, indexed.jobOfId.get("a")!);
    expect(job.turns.map((turn) => [turn.number, turn.arrive])).toEqual([[1, 1], [2, 5]]);
    expect(job.turns[0]).toMatchObject({ queue: 0.5, decode: 1 });
  });

  it("names the jobs that evicted its KV", () => {
    expect(viewJob(indexed, indexed.jobOfId.get("a")!).losses).toMatchObject([{ kind: "evict_gpu", blocks: 7, by: "b, turn 1" }]);
    expect(viewJob(indexed, indexed.jobOfId.get("b")!).losses).toEqual([]);
  });

  it("is found by any part of its name, in any case", () => {
    expect(findJobs(indexed, " B ")).toEqual([indexed.jobOfId.get("b")]);
    expect(findJobs(indexed, "")).toHaveLength(2);
  });

  it("without a record of its own lasts from its first arrival to its last token", () => {
    const { jobs } = indexed.trace;
    expect(jobs.jct[indexed.jobOfId.get("a")!]).toBe(6);
  });
});

describe("a trace from elsewhere", () => {
  it("starts at zero when its clock counts from 1970", () => {
    const trace = new JsonlTrace("x");
    trace.add('{"event":"step_snapshot","step":10,"ts":1700000000.5,"free_blocks":1,"total_blocks":3}');
    trace.add('{"event":"step_snapshot","step":11,"ts":1700000002,"free_blocks":1,"total_blocks":3}');
    const { steps } = trace.trace();
    expect([...steps.start]).toEqual([0, 1.5]);
    expect([...steps.duration]).toEqual([1.5, 0]);
    expect([...steps.used]).toEqual([2, 2]);
  });

  it("may have lines of other kinds, which belong to none", () => {
    expect(new JsonlTrace("x").add('{"event":"weather"}')).toBe(false);
    expect(() => new JsonlTrace("x").add("{")).toThrow(SyntaxError);
  });

  it("is put together from files by what their names have in common", () => {
    const names = ["sched_trace.fcfs.steps.jsonl", "sched_trace.fcfs.requests.jsonl", "sched_trace.fcfs.events.jsonl"];
    expect(new Set(names.map(traceName))).toEqual(new Set(["sched_trace.fcfs"]));
  });
});

describe("a link", () => {
  it("says again what was written to it", () => {
    const place = { step: 12, time: 1.5, from: 0.25, to: 9, job: "a&b=<c>#d" };
    expect(readPlace(writePlace(place))).toEqual(place);
  });

  it("that is damaged says nothing rather than something wrong", () => {
    expect(readPlace("#step=&t=soon&from=NaN&to=Infinity")).toEqual({});
  });
});
