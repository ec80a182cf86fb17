import { h, replace } from "@/shared/dom";
import { num, seconds } from "@/shared/format";

const SPEEDS = [0.1, 0.5, 1, 2, 5, 10, 50, 100];

export interface ControlsUse {
  seek: (time: number) => void;
  step: (by: number) => void;
  goToStep: (text: string) => void;
  findJob: (text: string, done: boolean) => boolean;
  play: () => void;
  speed: (speed: number) => void;
  zoom: (factor: number) => void;
  fit: () => void;
}

const OFFERED = 1000; // jobs in the list of suggestions

/** The bar that moves the clock. */
export class Controls {
  readonly element: HTMLElement;
  private readonly play: HTMLButtonElement;
  private readonly scrub: HTMLInputElement;
  private readonly stepInput: HTMLInputElement;
  private readonly jobInput: HTMLInputElement;
  private readonly clock = h("output", { class: "clock" });
  private readonly jobs = h("datalist", { id: "jobs" });

  constructor(end: number, use: ControlsUse) {
    const button = (text: string, title: string, act: () => void) =>
      h("button", { type: "button", title, "aria-label": title, onclick: act }, text);
    this.play = button("▶", "Play (space)", use.play);
    this.scrub = h("input", { type: "range", min: 0, max: end, step: "any", value: 0, class: "scrub", "aria-label": "Time" });
    this.scrub.addEventListener("input", () => use.seek(Number(this.scrub.value)));
    this.stepInput = h("input", { type: "text", inputmode: "numeric", size: 7, "aria-label": "Go to step" });
    this.stepInput.addEventListener("change", () => use.goToStep(this.stepInput.value));
    this.jobInput = h("input", { type: "search", size: 16, list: "jobs", placeholder: "Find a job", title: "Find a job (/)", "aria-label": "Find a job" });
    this.jobInput.addEventListener("input", () => use.findJob(this.jobInput.value, false));
    this.jobInput.addEventListener("change", () => this.jobInput.setCustomValidity(use.findJob(this.jobInput.value, true) ? "" : "No such job"));
    const speed = h("select", { "aria-label": "Speed" }, ...SPEEDS.map((value) => h("option", { value, selected: value === 1 }, `${value}×`)));
    speed.addEventListener("change", () => use.speed(Number(speed.value)));
    this.element = h(
      "nav",
      { class: "controls card", "aria-label": "Clock" },
      h("div", { class: "group" }, button("|◀", "First step (Home)", () => use.seek(0)), button("‹", "Step back (←)", () => use.step(-1)), this.play,
        button("›", "Step on (→)", () => use.step(1)), button("▶|", "Last step (End)", () => use.step(Infinity)), speed),
      this.scrub,
      this.clock,
      h("div", { class: "group" }, h("label", {}, "step ", this.stepInput), this.jobInput, this.jobs),
      h("div", { class: "group" }, button("+", "Zoom in (+)", () => use.zoom(0.5)), button("−", "Zoom out (-)", () => use.zoom(2)),
        button("Fit", "Show everything (0)", use.fit)),
    );
  }

  offerJobs(ids: string[]): void {
    replace(this.jobs, ...ids.slice(0, OFFERED).map((value) => h("option", { value })));
  }

  showPlaying(playing: boolean): void {
    this.play.textContent = playing ? "❚❚" : "▶";
    this.play.setAttribute("aria-pressed", String(playing));
  }

  show(time: number, step: number): void {
    this.scrub.value = String(time);
    this.scrub.setAttribute("aria-valuetext", `step ${step} at ${time.toFixed(3)} s`);
    this.clock.textContent = time >= 1 ? `${time.toFixed(3)} s` : seconds(time);
    if (document.activeElement !== this.stepInput) this.stepInput.value = num(step).replace(/,/g, "");
  }

  focusFind(): void {
    this.jobInput.focus();
    this.jobInput.select();
  }
}
