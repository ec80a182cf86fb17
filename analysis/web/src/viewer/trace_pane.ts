import { csvButton } from "@/shared/csv";
import { h, replace } from "@/shared/dom";
import { num, seconds } from "@/shared/format";
import { index, type Indexed } from "./indexed";
import { JobPanel } from "./job_panel";
import { endOf, stepAt, type Trace } from "./model";
import { SwimLanes } from "./swim_lanes";
import { StepPanel, stepSummary } from "./step_panel";
import { TimelineChart } from "./timeline_chart";

export interface PaneUse {
  seek: (time: number) => void;
  zoom: (from: number, to: number) => void;
  openJob: (id: string) => void;
}

const ORIGINS = { modelled: "MODELLED", measured: "MEASURED", unknown: "FROM JSON LINES" };

/** Everything about one trace: its timeline, the step under the cursor, its jobs. */
export class TracePane {
  readonly indexed: Indexed;
  private readonly timeline: TimelineChart;
  private readonly step: StepPanel;
  private readonly jobs: JobPanel;
  private readonly lanes: SwimLanes;
  private readonly summary = h("small", { class: "muted", "data-part": "summary" });

  constructor(element: HTMLElement, trace: Trace, end: number, window: [number, number], use: PaneUse) {
    this.indexed = index(trace);
    const chart = h("div", { class: "timeline", role: "img" }), keys = h("p", { class: "muted keys" });
    const [step, jobs] = [h("div", { class: "card step" }), h("div", { class: "card jobs-card" })];
    const save = csvButton("timeline.csv", () => this.timeline.csv());
    this.lanes = new SwimLanes(this.indexed, window, use);
    replace(
      element,
      h("div", { class: "card" },
        h("h2", {}, trace.title, " ", h("span", { class: `badge ${trace.origin}` }, ORIGINS[trace.origin])),
        h("p", { class: "muted facts-line" }, trace.facts.map(([name, text]) => `${name} ${text}`).join(" · ")),
        keys,
        chart,
        h("p", { class: "under" }, this.summary, save),
        h("details", { class: "lanes-fold" }, h("summary", {}, "All jobs: what each did or waited for"), this.lanes.element)),
      h("div", { class: "details" }, step, jobs),
    );
    this.timeline = new TimelineChart(chart, keys, trace, end, window, use);
    this.step = new StepPanel(step, this.indexed, use.openJob);
    this.jobs = new JobPanel(jobs, this.indexed, use);
    element.dataset["complete"] = "";
  }

  get trace(): Trace {
    return this.indexed.trace;
  }

  setTime(time: number): void {
    const row = stepAt(this.trace, time);
    this.timeline.setTime(time);
    this.jobs.setTime(time);
    this.lanes.setTime(time);
    this.step.show(row);
    const ended = time > endOf(this.trace) ? `, ended at ${seconds(endOf(this.trace))}` : "";
    this.summary.textContent =
      this.trace.steps.n > 0 ? `${stepSummary(this.trace, row)}${ended}; ${num(this.trace.jobs.n)} jobs` : "no steps";
  }

  setWindow(from: number, to: number): void {
    this.timeline.setWindow(from, to);
    this.lanes.setWindow(from, to);
  }

  spanOfJob(id: string): [number, number] {
    return this.jobs.span(id);
  }

  showJob(id: string, range: [number, number]): void {
    this.jobs.show(id, range);
  }

  filterJobs(text: string): void {
    this.jobs.setFilter(text);
  }

  dispose(): void {
    this.timeline.dispose();
    this.jobs.dispose();
  }
}
