// measure-trace.mjs PAGE.html: how long the trace viewer takes to open a page and to answer, as medians of several tries.
// Wall time is what a reader waits for on this machine as it is; processor time, of all threads of the page, hardly depends on
// what else runs. Run from a folder with the packages of analysis/web (build/<preset>/web-tree/analysis/web).
import { cpus, loadavg } from "node:os";
import { pathToFileURL } from "node:url";
import { TRIES, browser, busy, drawn, median } from "./page-timer.mjs";

async function open() {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const before = await busy();
  const start = performance.now();
  await page.goto(pathToFileURL(process.argv[2]).href, { waitUntil: "commit" });
  await page.waitForFunction(() => document.querySelector("[data-part=summary]")?.textContent);
  await drawn(page);
  const first = performance.now() - start;
  await page.waitForFunction(() => [...document.querySelectorAll(".pane")].every((pane) => "complete" in pane.dataset));
  await drawn(page);
  return { page, first, wall: performance.now() - start, cpu: (await busy()) - before };
}

async function interaction(name, { page }, act) {
  const [walls, cpus] = [[], []];
  for (let i = 0; i < TRIES; ++i) {
    const before = await busy();
    walls.push(await page.evaluate(act, i));
    cpus.push((await busy()) - before);
  }
  console.log(`${name.padEnd(24)} ${median(walls).toFixed(0).padStart(7)} ms wall ${median(cpus).toFixed(0).padStart(7)} ms of processor time`);
}

const opened = [];
for (let i = 0; i < 3; ++i) {
  await opened.at(-1)?.page.close();
  opened.push(await open());
}
const figure = (name) => median(opened.map((each) => each[name])).toFixed(0).padStart(7);
console.log(`load ${loadavg().map((each) => each.toFixed(1)).join(" ")} on ${cpus().length} processors`);
console.log(`opening                  ${figure("wall")} ms wall ${figure("cpu")} ms of processor time`);
console.log(`  until it answers       ${figure("first")} ms wall`);
const last = opened.at(-1);

// Each returns the time from the event to the frame that shows its effect.
const measured = (body) => `async (i) => { const start = performance.now(); ${body};
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done))); return performance.now() - start; }`;
const key = (name) => `document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "${name}", bubbles: true }))`;
const evaluate = (text) => new Function("i", `return (${text})(i)`);
await interaction("a step on", last, evaluate(measured(key("ArrowRight"))));
await interaction("scrub to anywhere", last, evaluate(measured(
  `const s = document.querySelector(".scrub"); s.value = String(Number(s.max) * (0.13 + 0.17 * i)); s.dispatchEvent(new Event("input"))`)));
await interaction("zoom in", last, evaluate(measured(key("+"))));
await interaction("zoom out to everything", last, evaluate(measured(key("0"))));
await interaction("open a job", last, evaluate(measured(`document.querySelectorAll(".jobs tbody button")[i + 1].click()`)));
await interaction("type into the search", last, evaluate(measured(
  `const s = document.querySelector("input[type=search]"); s.value = "000" + i; s.dispatchEvent(new Event("input"))`)));
await browser.close();
