import { kvData, type StepClock } from "./kv_history";
import { lastNotAbove, type Events, type KvData } from "./model";
import type { Whole } from "./packed_ints";
import { TableReader, type PageTable } from "./page_table";

/** The source of a page's KV events, as plain data that can be transferred to a worker. */
export interface EventSource {
  table: PageTable;
  steps: StepClock;
  /** Starts and durations of the steps in units of the events' times, if these refer to steps. */
  times: { starts: Whole; durations: Whole } | null;
  jobs: number;
}

/** Whether the times of a page's events refer to its steps. */
export function needsStepTimes(table: PageTable): boolean {
  return "ended" in table.columns;
}

export async function readKvData(source: EventSource): Promise<KvData> {
  const table = await TableReader.open(source.table);
  if (source.times !== null) giveTimes(table, source.steps, source.times);
  return kvData(source.steps, eventsOf(table), source.jobs);
}

/** Gives the start of each event's step, and its duration for events at its end. */
function giveTimes(table: TableReader, steps: StepClock, { starts, durations }: { starts: Whole; durations: Whole }): void {
  const [step, ended] = [table.whole("step"), table.whole("ended")];
  const [begun, lasted] = [new Float64Array(step.length), new Float64Array(step.length)];
  let row = 0;
  for (let i = 0; i < step.length; ++i) {
    if (steps.number[row] !== step[i]) row = Math.max(0, lastNotAbove(steps.number, step[i] as number));
    begun[i] = starts[row] as number;
    lasted[i] = (durations[row] as number) * (ended[i] as number);
  }
  table.give("begun", begun);
  table.give("lasted", lasted);
}

function eventsOf(table: TableReader): Events {
  return {
    n: table.rows,
    step: table.numbers("step"),
    time: table.numbers("t_s"),
    job: table.numbers("job"),
    turn: table.numbers("turn"),
    kind: table.numbers("kind"),
    kinds: table.names("kind"),
    reason: table.numbers("reason"),
    reasons: table.names("reason"),
    blocks: table.numbers("blocks"),
    bytes: table.numbers("bytes"),
    byJob: table.numbers("by_job"),
    byTurn: table.numbers("by_turn"),
    deadline: table.numbers("deadline_s"),
  };
}
