// measure-report.mjs PAGE.html...: the size of report pages, and how long they take to be drawn, as medians of several tries:
// until the first screen stands, and to draw every chart of the page at once, as printing does.
// Wall time is what a reader waits for on this machine as it is; processor time, of all threads of the page, hardly depends on
// what else runs. Run from a folder with the packages of analysis/web (build/<preset>/web-tree/analysis/web).
import { statSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { pathToFileURL } from "node:url";
import { TRIES, browser, busy, drawn, median } from "./page-timer.mjs";

async function timed(act) {
  const before = await busy(), start = performance.now();
  await act();
  return { wall: performance.now() - start, cpu: (await busy()) - before };
}

async function measure(path) {
  const first = [], all = [];
  let charts = 0;
  for (let i = 0; i < TRIES; ++i) {
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    first.push(await timed(async () => {
      await page.goto(pathToFileURL(path).href, { waitUntil: "commit" });
      await page.waitForSelector("#missing");
      await drawn(page);
    }));
    all.push(await timed(async () => {
      await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
      await drawn(page);
    }));
    charts = await page.locator(".chart canvas").count();
    await page.close();
  }
  const text = (tries) => `${median(tries.map(({ wall }) => wall)).toFixed(0)} ms, ${median(tries.map(({ cpu }) => cpu)).toFixed(0)} ms of processor time`;
  console.log(`${path}: ${(statSync(path).size / 1e6).toFixed(2)} MB; first screen ${text(first)}; all ${charts} charts ${text(all)}`);
}

for (const path of process.argv.slice(2)) await measure(path);
console.log(`${TRIES} tries, ${cpus().length} cores (${cpus()[0]?.model}), load ${loadavg()[0].toFixed(1)}`);
await browser.close();
