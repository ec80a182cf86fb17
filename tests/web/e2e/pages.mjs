// What the tests of the pages have in common: archives that kvsweep makes, and chromium to look at pages with.
import { execFileSync, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(join(process.cwd(), "package.json"))("playwright-core");
const browser = process.env.KVSWEEP_CHROMIUM ?? "";
const program = process.env.KVSWEEP_PROGRAM ?? "";

/** Why these tests cannot run here, or "". */
export function whyNot() {
  if (!existsSync(program)) return `there is no kvsweep at '${program}'`;
  if (!existsSync(join(process.env.KVSWEEP_PAGES ?? "", "viewer.html"))) return "the web pages were not built";
  if (browser === "") return "chromium is not installed";
  const answer = spawnSync(browser, ["--version"], { encoding: "utf8", timeout: 60_000 });
  return answer.status === 0 ? "" : `chromium does not run here: ${String(answer.stderr).trim().split("\n")[0]}`;
}

/** Ends the test program as skipped, with the reason, where it cannot run. */
export function skipUnlessRunnable() {
  const why = whyNot();
  if (why === "") return;
  console.log(`SKIPPED: ${why}`);
  process.exit(0);
}

/** A folder of its own, removed by close(); kvsweep runs in it. */
export class Workplace {
  constructor(name) {
    this.folder = mkdtempSync(join(tmpdir(), `kvsweep-${name}-`));
    this.screenshots = process.env.KVSWEEP_SCREENSHOTS ?? join(this.folder, "screenshots");
    mkdirSync(this.screenshots, { recursive: true });
  }

  path(name) {
    return join(this.folder, name);
  }

  write(name, text) {
    writeFileSync(this.path(name), text);
  }

  kvsweep(...words) {
    return execFileSync(program, words, { cwd: this.folder, encoding: "utf8", maxBuffer: 1 << 28 });
  }

  close() {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Chromium with pages whose console must stay silent. */
export class Pages {
  static async start() {
    const pages = new Pages();
    pages.browser = await chromium.launch({ executablePath: browser, args: ["--no-sandbox", "--disable-gpu"] });
    return pages;
  }

  complaints = [];

  /** Opens a file; `options` are playwright's of a page, e.g. { colorScheme: "dark" }. */
  async open(file, hash = "", options = {}) {
    const page = await this.browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.complaints.push(message.text());
    });
    page.on("pageerror", (error) => this.complaints.push(error.message));
    page.on("request", (request) => {
      if (/^https?:/.test(request.url())) this.complaints.push(`asked the network for ${request.url()}`);
    });
    await page.goto(pathToFileURL(file).href + hash);
    return page;
  }

  /** Opens the page of `kvsweep report -o page` in a workplace, when it has been built to its end. */
  async openReport(place, options = {}) {
    const page = await this.open(place.path("page/index.html"), "", options);
    await page.waitForSelector("#missing");
    return page;
  }

  async close() {
    await this.browser.close();
  }
}

/** Two frames: what was asked for has been drawn. */
export async function drawn(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** A line of CSV whose quoted fields hold no line ends. */
const fields = (line) => [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].slice(0, -1).map(([, field]) =>
  (field.startsWith(`"`) ? field.slice(1, -1).replaceAll(`""`, `"`) : field));

/** The rows that a card's CSV button gives, as objects by column. */
export async function csvOf(card) {
  const [download] = await Promise.all([card.page().waitForEvent("download"), card.locator("button.csv").first().click()]);
  const [head, ...rows] = readFileSync(await download.path(), "utf8").trim().split("\r\n").map(fields);
  return rows.map((row) => Object.fromEntries(head.map((name, i) => [name, row[i]])));
}
