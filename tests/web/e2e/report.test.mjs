// The page of `kvsweep report` in a browser, over archives that kvsweep makes here. Run by ctest in the mirror of analysis/web.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

const { KVSWEEP_PROGRAM: program, KVSWEEP_CHROMIUM: chromium_path, KVSWEEP_SCREENSHOTS: shots } = process.env;
const EVIL = `<img src=x onerror="window.hacked=1">`;
const NINE = ["tokens", "step-time", "turns", "jct", "jct-rate", "pool", "queue", "hits", "traffic"];
const CHARTS = ["why", ...NINE, "one-gap"];

const SWEEP = `# Which policy is <b>best</b>?
# And why?
schema = 1
[sweep]
name = "small"
backend = "sim"
[axes]
gpu = ["h100-80gb", "a100-40gb"]
policy = ["fcfs", "continuum", "cpu_offload"]
jps = [1, 6]
dram_gib = [16, 64]
[repeat]
n = 2
[sim]
cost_model = "published"
[workload]
kind = "swe_smith_like"
jobs = 12
gap_s = 1.0
[[exclude]]
gpu = "a100-40gb"
policy = "cpu_offload"
jps = 6
dram_gib = 64
reason = 'left out to see ${EVIL}'
`;
const turn = (words) => [{ role: "user", content: words }, { role: "assistant", content: "it is done" }];
const RECORDED = SWEEP.replace(/name = "small"/, `name = "recorded"`).replace(/dram_gib = .*\n\[repeat\]\nn = 2/, "")
  .replace(/, "cpu_offload"|, "a100-40gb"/g, "").replace(/\[workload\][^]*/, `[workload]\nkind = "trajectories"\npath = "jobs.jsonl"\n`);

let folder, browser, skipped = "";

function kvsweep(...words) {
  return execFileSync(program, words, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

const reportFolder = (archives) => join(folder, `report-of-${archives.join("-").replaceAll(".h5", "")}`);

/** The page of a report of these archives; complaints of the page are collected in `problems`. */
async function openReport(archives, { hash = "", dark = false, width = 1280 } = {}) {
  const dir = reportFolder(archives);
  kvsweep("report", ...archives, "-o", dir);
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light" });
  page.problems = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(error.message));
  page.on("request", (request) => /^https?:/.test(request.url()) && page.problems.push(`asked the network for ${request.url()}`));
  await page.goto(pathToFileURL(join(dir, "index.html")).href + hash);
  await page.waitForSelector("#missing");
  return page;
}

/** Scrolls to a chart and waits until it has drawn something. */
async function drawn(page, id) {
  await page.locator(`#${id}`).scrollIntoViewIfNeeded();
  await page.waitForFunction((chart) => {
    const canvas = document.querySelector(`#${chart} canvas`);
    if (!canvas) return false;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.some((value) => value !== 0);
  }, id);
}

const note = (page, id) => page.locator(`#${id} .note`).textContent();
const values = (page, label) => page.locator(`select[aria-label="${label}"] option`).evaluateAll((all) => all.map((each) => each.value));

async function csvOf(page, place) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator(`${place} button.csv`).first().click()]);
  return readFileSync(await download.path(), "utf8").trim().split("\r\n");
}

before(async () => {
  if (!chromium_path) {
    skipped = "no chromium is installed";
    return;
  }
  const { chromium } = createRequire(join(process.cwd(), "package.json"))("playwright-core");
  try {
    browser = await chromium.launch({ executablePath: chromium_path, args: ["--no-sandbox", "--disable-gpu"] });
  } catch (error) {
    skipped = `chromium does not run: ${String(error.message).split("\n")[0]}`;
    return;
  }
  folder = mkdtempSync(join(tmpdir(), "kvsweep-report-"));
  mkdirSync(shots, { recursive: true });
  writeFileSync(join(folder, "small.toml"), SWEEP);
  writeFileSync(join(folder, "recorded.toml"), RECORDED);
  const jobs = ["plain", EVIL].map((id) => JSON.stringify({ id, messages: [...turn("look ".repeat(200)), ...turn("again"), ...turn("more")] }));
  writeFileSync(join(folder, "jobs.jsonl"), `${jobs.join("\n")}\n`);
  kvsweep("run", "small.toml", "--archive", "small.h5");
  kvsweep("run", "recorded.toml", "--archive", "recorded.h5");
});

after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true });
  if (skipped) console.log(`SKIPPED: ${skipped}`);
});

/** A test that needs a browser. */
function in_browser(name, body) {
  test(name, async (context) => {
    if (skipped) return context.skip(skipped);
    await body();
  });
}

in_browser("every panel draws in both themes and on a narrow screen, and the page never complains", async () => {
  for (const [dark, width] of [[false, 1280], [true, 1280], [true, 390]]) {
    const page = await openReport(["small.h5"], { dark, width });
    for (const id of [...CHARTS, "latency-0-left", "latency-0-right", "latency-1-left", "latency-1-right"]) {
      if (id === "traffic") continue; // the policy in detail moves nothing
      await drawn(page, id);
      if (width === 1280) await page.locator(`#${id}`).screenshot({ path: join(shots, `report-${id}-${dark ? "dark" : "light"}.png`) });
    }
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, "nothing sticks out sideways");
    assert.deepEqual(page.problems, []);
    await page.close();
  }
});

in_browser("the page is one small file with the question, the summary and what is missing", async () => {
  const page = await openReport(["small.h5"]);
  assert.deepEqual(readdirSync(reportFolder(["small.h5"])), ["index.html"]);
  assert.ok(statSync(join(reportFolder(["small.h5"]), "index.html")).size < 5e6);
  const text = await page.locator("#app").innerText();
  for (const wanted of ["Which policy is <b>best</b>? And why?", "MODELLED", "cpu_offload-64G", "30 of 32 planned cells", `left out to see ${EVIL}`]) {
    assert.ok(text.includes(wanted), `the page says ${wanted}`);
  }
  assert.equal(await page.locator("#summary article").count(), 2);
  assert.match(await page.locator("#summary td.best").first().innerText(), /★[^]*n=2/);
  assert.match(await page.locator("#regimes").innerText(), /n=2/);
  await page.close();
});

in_browser("each control changes what the charts show, and the address keeps it", async () => {
  const page = await openReport(["small.h5"]);
  await drawn(page, "turns");
  assert.match(await note(page, "turns"), /all rates together, 2 repeats/);
  await page.locator('select[aria-label="arrival rate"]').selectOption("6");
  assert.match(await note(page, "turns"), /6 jobs\/s/);
  await page.locator('select[aria-label="GPU"]').selectOption("1");
  assert.match(await page.evaluate(() => location.hash), /panel=1.*rate=6/);
  await drawn(page, "pool");
  await page.locator('select[aria-label="policy in detail"]').selectOption("fcfs");
  await page.locator('select[aria-label="repeat"]').selectOption({ value: "1" });
  assert.match(await note(page, "pool"), /fcfs at 6 jobs\/s, seed 43 \(repeat 2 of 2\)/);
  await drawn(page, "step-time");
  await page.locator("#step-time").getByRole("button", { name: "total" }).click();
  assert.equal(await page.locator("#tokens").getByRole("button", { name: "total" }).getAttribute("aria-pressed"), "true");
  await page.locator('select[aria-label="figure"]').selectOption("ttft_mean_s");
  assert.match(await page.locator("#summary").innerText(), /ttft_mean_s \[s\]/);
  const hash = await page.evaluate(() => location.hash);
  const again = await openReport(["small.h5"], { hash });
  await drawn(again, "pool");
  assert.equal(await note(again, "pool"), await note(page, "pool"));
  assert.deepEqual([...page.problems, ...again.problems], []);
  await page.close();
  await again.close();
});

in_browser("policies are toggled by the keyboard, and leave the charts and their CSV", async () => {
  const page = await openReport(["small.h5"]);
  await drawn(page, "turns");
  const policies = async () => new Set((await csvOf(page, "#turns")).slice(1).map((line) => line.split(",")[0]));
  assert.ok((await policies()).has("fcfs"));
  const button = page.locator('.panel .policies button[data-variant="fcfs"]');
  await button.focus();
  await page.keyboard.press("Space");
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  assert.equal(await page.evaluate(() => document.activeElement?.dataset?.variant), "fcfs", "the focus stays");
  assert.ok(!(await policies()).has("fcfs"));
  await page.close();
});

in_browser("a chart in focus is walked and zoomed by keys", async () => {
  const page = await openReport(["small.h5"]);
  await drawn(page, "turns");
  await page.locator("#turns .chart").focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => /turn 1/.test(document.querySelector("#turns .chart")?.textContent ?? ""));
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => /turn 2/.test(document.querySelector("#turns .chart")?.textContent ?? ""));
  for (const key of ["+", "-", "0", "Escape"]) await page.keyboard.press(key);
  assert.deepEqual(page.problems, []);
  await page.close();
});

in_browser("every chart has its data as CSV", async () => {
  const page = await openReport(["small.h5"], { hash: "#focus=cpu_offload-64G" });
  for (const id of [...CHARTS, "latency-0-left"]) {
    await drawn(page, id);
    const lines = await csvOf(page, `#${id}`);
    assert.ok(lines.length > 1 && lines[0].includes(","), `${id} has rows`);
  }
  for (const id of ["summary", "regimes", "fits", "claims", "missing"]) assert.ok((await csvOf(page, `#${id}`)).length > 1, id);
  await page.close();
});

in_browser("texts of archives stay text, also in tooltips", async () => {
  const page = await openReport(["recorded.h5"]);
  await drawn(page, "one-gap");
  await page.locator("#one-gap .chart").hover();
  assert.ok((await note(page, "one-gap")).includes(`job ${EVIL}`), "the job with markup in its name is the one shown");
  const html = readFileSync(join(reportFolder(["recorded.h5"]), "index.html"), "utf8");
  assert.ok(!html.includes("<img src=x"));
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator("#app img").count(), 0);
  await page.close();
});

in_browser("archives of different kinds share the page, but no table and no chart", async () => {
  const kernels = SWEEP.replace(`name = "small"`, `name = "kernels"`).replace(`"published"`, `"kernels"`);
  writeFileSync(join(folder, "kernels.toml"), kernels);
  kvsweep("run", "kernels.toml", "--archive", "kernels.h5", "--only", "gpu=h100-80gb,jps=6");
  const page = await openReport(["small.h5", "kernels.h5"]);
  assert.equal((await values(page, "GPU")).length, 3);
  const kinds = await page.locator("#regimes article h3").allInnerTexts();
  assert.equal(new Set(kinds).size, kinds.length);
  for (const table of await page.locator("#fits article, #regimes article").all()) {
    assert.equal(await table.locator(".badge").count(), 1, "one kind a table");
  }
  const right = await page.locator('select[aria-label="right GPU"] option').allInnerTexts();
  assert.ok(right.every((text) => text.includes("published")), "latencies side by side are of one kind");
  await page.close();
});
