// What measure-report.mjs and measure-trace.mjs share: a browser, and the processor time of its pages. Needs the working folder that they name.
import { createRequire } from "node:module";
import { join } from "node:path";

const { chromium } = createRequire(join(process.cwd(), "package.json"))("playwright-core");
export const TRIES = 5;
export const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

export const browser = await chromium.launch({
  executablePath: process.env.KVSWEEP_CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
const session = await browser.newBrowserCDPSession();

/** Milliseconds of processor time that all pages have used, all their threads. */
export async function busy() {
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  return 1e3 * processInfo.filter((process) => process.type === "renderer").reduce((sum, process) => sum + process.cpuTime, 0);
}

/** Waits until the page has been drawn. */
export const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
