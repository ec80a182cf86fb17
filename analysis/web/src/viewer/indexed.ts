import { KvHistory } from "./kv_history";
import { Groups, groupsOf, SpanIndex } from "./span_index";
import type { Trace } from "./model";

/** A trace with its search indices. */
export interface Indexed {
  trace: Trace;
  shares: SpanIndex;
  stays: SpanIndex;
  listedPins: SpanIndex | null;
  kv: KvHistory;
  turnsOfJob: Groups;
  jobOfId: Map<string, number>;
}

export function index(trace: Trace): Indexed {
  const { shares, stays, jobs, turns, pins, kv } = trace;
  const lastOfShare = new Int32Array(shares.n);
  for (let i = 0; i < shares.n; ++i) lastOfShare[i] = (shares.first[i] as number) + (shares.count[i] as number) - 1;
  return {
    trace,
    shares: new SpanIndex(shares.first, lastOfShare),
    stays: new SpanIndex(stays.first, stays.last),
    listedPins: pins === null ? null : new SpanIndex(pins.first, pins.last),
    kv: new KvHistory(kv),
    turnsOfJob: new Groups(groupsOf(turns.job, jobs.n)),
    jobOfId: new Map(jobs.id.map((id, row) => [id, row])),
  };
}
