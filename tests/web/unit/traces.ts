import { JsonlTrace } from "@/viewer/jsonl";
import type { Trace } from "@/viewer/model";

/** Lines of a trace, a second a step. */
export class Lines {
  private readonly lines: object[] = [];
  private step = 0;

  /** A step whose requests get so many tokens each; those in `fresh` for the first time. */
  next(running: Record<string, number>, waiting: string[] = [], more: { fresh?: string[]; preempted?: string[]; bytes?: number } = {}): this {
    const at = { step: ++this.step, ts: this.step };
    const names = Object.keys(running);
    this.lines.push({ event: "step_snapshot", ...at, free_blocks: 6, total_blocks: 10, pinned_blocks: 1, running_req_ids: names, waiting_req_ids: waiting });
    const fresh = more.fresh ?? [];
    this.lines.push({
      event: "step_decision",
      ...at,
      scheduled_new_req_ids: fresh,
      scheduled_running_req_ids: names.filter((name) => !fresh.includes(name)),
      preempted_req_ids: more.preempted ?? [],
      num_scheduled_tokens: running,
      d2h_bytes: more.bytes ?? 0,
      stop_reason: waiting.length > 0 ? "kv_insufficient" : "none",
      step_ms: { total: 1000 },
    });
    return this;
  }

  /** Something that happens to KV at the start of the latest step, or so much later. */
  event(kind: string, job: string, more: object = {}, later = 0): this {
    this.lines.push({ event: "kv_event", kind, reason: "none", step: this.step, ts: this.step + later, job_id: job, blocks: 1, bytes: 0, ...more });
    return this;
  }

  turn(request: string, arrive: number, finish: number, more: object = {}): this {
    this.lines.push({ event: "request", req_id: request, job_id: request.split(":")[0], arrival_time: arrive, finish_time: finish, queue_s: 0.5, decode_s: 1, ...more });
    return this;
  }

  text(): string[] {
    return this.lines.map((line) => JSON.stringify(line));
  }

  trace(): Trace {
    const trace = new JsonlTrace("test");
    for (const line of this.text()) trace.add(line);
    return trace.trace();
  }
}
