import "@/shared/theme.css";
import "./viewer.css";
import { pageData } from "@/shared/columns";
import { h, replace } from "@/shared/dom";
import { startTheme, themeToggle } from "@/shared/theme";
import { readTraces } from "./files";
import type { JsonlTrace } from "./jsonl";
import { readPlace } from "./link";
import type { Trace } from "./model";
import { traceOfPage, type TracePage } from "./page";
import { Viewer } from "./viewer";

const BESIDE = 2; // traces side by side

startTheme();
const app = document.getElementById("app") as HTMLElement;
const message = h("p", { class: "message warn", role: "status", hidden: true });
const opened = new Map<string, JsonlTrace>();
let viewer: Viewer | null = null;

function say(text: string): void {
  message.textContent = text;
  message.hidden = text === "";
}

function show(traces: Trace[]): void {
  viewer?.dispose();
  const root = h("div");
  replace(app, message, root);
  viewer = new Viewer(root, traces, fileButton());
  viewer.start(readPlace(location.hash));
}

function fileButton(): HTMLElement {
  const input = h("input", { type: "file", multiple: true, accept: ".jsonl,.json", class: "file", "aria-label": "Open files of JSON lines" });
  input.addEventListener("change", () => void open([...(input.files ?? [])]));
  return h("label", { class: "open" }, "Open *.jsonl", input);
}

/** New files are shown beside earlier files, and replace the trace that came with the page. */
async function open(files: File[]): Promise<void> {
  if (files.length === 0) return;
  say(`Reading ${files.map((file) => file.name).join(", ")} ...`);
  try {
    await readTraces(files, opened);
    for (const name of [...opened.keys()].slice(0, -BESIDE)) opened.delete(name);
    show([...opened.values()].map((trace) => trace.trace()));
    say("");
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
  }
}

function welcome(): void {
  replace(
    app,
    message,
    h("header", { class: "top" }, h("h1", {}, "Scheduler trace"), h("span", { class: "spacer" }), themeToggle()),
    h("div", { class: "card welcome" },
      h("p", {}, "Drop ", h("code", {}, "x.steps.jsonl"), ", ", h("code", {}, "x.requests.jsonl"), " and ", h("code", {}, "x.events.jsonl"),
        " of one or two cells here, or open them:"),
      fileButton(),
      h("p", { class: "muted" }, "kvsweep trace A.h5 CELL --view writes this page with a trace in it.")),
  );
}

window.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
});
window.addEventListener("dragleave", (event) => {
  if (event.relatedTarget === null) document.body.classList.remove("dropping");
});
window.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  void open([...(event.dataTransfer?.files ?? [])]);
});
window.addEventListener("keydown", (event) => viewer?.key(event));
window.addEventListener("hashchange", () => viewer?.go(readPlace(location.hash)));

async function start(): Promise<void> {
  const page = await pageData<TracePage>();
  if (page === null) return welcome();
  document.title = `${page.cells.map((cell) => cell.label).join(" | ")} - kvsweep trace`;
  show(await Promise.all(page.cells.map((cell) => traceOfPage(page.archive, cell))));
}

start().catch((error: unknown) => {
  replace(app, message);
  say(`This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`);
});
