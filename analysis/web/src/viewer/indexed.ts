import { KvHistory } from "./kv_history";
import { groupsOf, type Trace } from "./model";

/** A trace with what is looked up in it. */
export interface Indexed {
  trace: Trace;
  kv: KvHistory;
  turnsOfJob: number[][];
  jobOfId: Map<string, number>;
}

export function index(trace: Trace): Indexed {
  const { steps, events, jobs, turns } = trace;
  return {
    trace,
    kv: new KvHistory(steps, events, jobs.n),
    turnsOfJob: groupsOf(turns.job, jobs.n),
    jobOfId: new Map(jobs.id.map((id, row) => [id, row])),
  };
}
