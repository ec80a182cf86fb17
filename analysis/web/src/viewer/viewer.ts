import { h, replace } from "@/shared/dom";
import { themeToggle } from "@/shared/theme";
import { Controls } from "./controls";
import { findJobs } from "./job_view";
import { writePlace, type Place } from "./link";
import { at, endOf, stepAt, type Trace } from "./model";
import { Player } from "./player";
import { TracePane } from "./trace_pane";

const NARROWEST = 1e-4; // seconds that a window shows at least

/** One or two traces on one clock, with the controls that move it. */
export class Viewer {
  private readonly panes: TracePane[];
  private readonly end: number;
  private readonly player: Player;
  private readonly controls: Controls;
  private time = 0;
  private window: [number, number];
  private job = "";
  private linkTimer = 0;
  private frame = 0;

  constructor(root: HTMLElement, traces: Trace[], openFiles: HTMLElement) {
    this.end = Math.max(1e-3, ...traces.map(endOf));
    this.window = [0, this.end];
    this.player = new Player((by) => this.advance(by), () => this.controls.showPlaying(this.player.playing));
    this.controls = new Controls(this.end, {
      seek: (time) => this.seek(time),
      step: (by) => this.step(by),
      goToStep: (text) => this.goToStep(text),
      findJob: (text, done) => this.findJob(text, done),
      play: () => this.player.toggle(),
      speed: (speed) => (this.player.speed = speed),
      zoom: (factor) => this.zoomBy(factor),
      fit: () => this.setWindow(0, this.end),
    });
    const sections = traces.map((trace) => h("section", { class: "pane", "aria-label": trace.title }));
    replace(
      root,
      h("header", { class: "top" }, h("h1", {}, "Scheduler trace"), h("span", { class: "spacer" }), openFiles, themeToggle()),
      this.controls.element,
      h("div", { class: `panes panes-${traces.length}` }, ...sections),
    );
    const use = {
      seek: (time: number) => this.seek(time),
      zoom: (from: number, to: number) => this.setWindow(from, to),
      openJob: (id: string) => this.openJob(id),
    };
    this.panes = traces.map((trace, i) => new TracePane(sections[i] as HTMLElement, trace, this.end, this.window, use));
    this.controls.offerJobs([...new Set(traces.flatMap((trace) => trace.jobs.id))]);
  }

  private get first(): Trace {
    return (this.panes[0] as TracePane).trace;
  }

  start(place: Place): void {
    this.go(place);
    if (this.job === "") {
      const longest = longestJob(this.first);
      if (longest !== undefined) this.showJob(longest);
    }
    this.draw();
  }

  /** Goes to the position of a link; what the link leaves out stays unchanged. */
  go(place: Place): void {
    if (place.from !== undefined && place.to !== undefined) this.setWindow(place.from, place.to);
    if (place.job !== undefined) this.showJob(place.job);
    if (place.step !== undefined) this.seekStep(this.rowOfStep(place.step));
    else if (place.time !== undefined) this.seek(place.time);
  }

  private rowOfStep(number: number): number {
    const { number: numbers, n } = this.first.steps;
    const row = Math.round(number - at(numbers, 0));
    if (at(numbers, row) === number) return row;
    const found = numbers.indexOf(number as never);
    return found >= 0 ? found : Math.min(Math.max(0, row), n - 1);
  }

  private seekStep(row: number): void {
    const { start, n } = this.first.steps;
    if (n > 0) this.seek(at(start, Math.min(Math.max(0, row), n - 1)));
  }

  step(by: number): void {
    const row = stepAt(this.first, this.time);
    this.seekStep(by === Infinity ? this.first.steps.n - 1 : row + by);
  }

  private goToStep(text: string): void {
    const number = Number(text);
    if (text.trim() !== "" && Number.isFinite(number)) this.seekStep(this.rowOfStep(number));
  }

  seek(time: number): void {
    this.time = Math.min(this.end, Math.max(0, time));
    const [from, to] = this.window;
    if (this.time < from || this.time > to) this.setWindow(this.time - (to - from) / 2, this.time + (to - from) / 2);
    this.draw();
  }

  private advance(by: number): boolean {
    this.seek(this.time + by);
    return this.time < this.end;
  }

  setWindow(from: number, to: number): void {
    const width = Math.min(this.end, Math.max(NARROWEST, to - from));
    const low = Math.min(Math.max(0, from), this.end - width);
    this.window = [low, low + width];
    this.draw();
  }

  private zoomBy(factor: number): void {
    const [from, to] = this.window;
    const width = (to - from) * factor;
    const share = (this.time - from) / (to - from);
    this.setWindow(this.time - width * share, this.time + width * (1 - share));
  }

  openJob(id: string): void {
    this.showJob(id);
    this.draw();
  }

  private showJob(id: string): void {
    this.job = id;
    const ends = this.panes.flatMap((pane) => pane.spanOfJob(id)).filter(Number.isFinite);
    const range: [number, number] = ends.length > 0 ? [Math.min(...ends), Math.max(...ends)] : [0, this.end];
    for (const pane of this.panes) pane.showJob(id, range);
  }

  /** Filters the lists while the text is typed; when it is entered, shows the job that it names or begins. */
  private findJob(text: string, done: boolean): boolean {
    for (const pane of this.panes) pane.filterJobs(text);
    if (!done || text.trim() === "") return true;
    for (const { indexed } of this.panes) {
      const exact = indexed.jobOfId.get(text.trim());
      const job = exact ?? findJobs(indexed, text)[0];
      if (job === undefined) continue;
      this.openJob(indexed.trace.jobs.id[job] as string);
      return true;
    }
    return false;
  }

  /** Draws all pending changes once, with the next frame. */
  private draw(): void {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      for (const pane of this.panes) {
        pane.setWindow(...this.window);
        pane.setTime(this.time);
      }
      const row = stepAt(this.first, this.time);
      this.controls.show(this.time, at(this.first.steps.number, row));
      this.link();
    });
  }

  /** Browsers limit how often the address may change. */
  private link(): void {
    clearTimeout(this.linkTimer);
    this.linkTimer = window.setTimeout(() => {
      const whole = this.window[0] === 0 && this.window[1] === this.end;
      const place: Place = this.panes.length > 1 ? { time: this.time } : { step: at(this.first.steps.number, stepAt(this.first, this.time)) };
      if (!whole) [place.from, place.to] = this.window;
      if (this.job) place.job = this.job;
      history.replaceState(null, "", writePlace(place));
    }, 200);
  }

  key(event: KeyboardEvent): void {
    const typing = event.target instanceof HTMLInputElement && event.target.type !== "range";
    if (typing || event.target instanceof HTMLSelectElement || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions: Record<string, () => void> = {
      ArrowRight: () => this.step(event.shiftKey ? 10 : 1),
      ArrowLeft: () => this.step(event.shiftKey ? -10 : -1),
      PageDown: () => this.step(100),
      PageUp: () => this.step(-100),
      Home: () => this.seek(0),
      End: () => this.step(Infinity),
      " ": () => this.player.toggle(),
      "+": () => this.zoomBy(0.5),
      "-": () => this.zoomBy(2),
      "0": () => this.setWindow(0, this.end),
      "/": () => this.controls.focusFind(),
    };
    const onButton = event.target instanceof HTMLButtonElement && event.key === " ";
    const scrolls = event.target instanceof Element && event.target.closest(".scroll") !== null;
    const action = actions[event.key];
    if (action === undefined || onButton || (scrolls && /^(Page|Home|End|Arrow)/.test(event.key))) return;
    event.preventDefault();
    action();
  }

  dispose(): void {
    this.player.stop();
    clearTimeout(this.linkTimer);
    cancelAnimationFrame(this.frame);
    for (const pane of this.panes) pane.dispose();
  }
}

function longestJob(trace: Trace): string | undefined {
  let best = -1;
  trace.jobs.jct.forEach((jct, row) => {
    if (best < 0 || jct > at(trace.jobs.jct, best)) best = row;
  });
  return trace.jobs.id[best];
}
