// The page of `kvsweep report` in a browser, over archives that kvsweep makes here. Run by ctest in the mirror of analysis/web.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

const { KVSWEEP_PROGRAM: program, KVSWEEP_CHROMIUM: chromium_path, KVSWEEP_SCREENSHOTS: shots, KVSWEEP_SOURCE: source } = process.env;
const EVIL = `<img src=x onerror="window.hacked=1">`;
const CHARTS = ["load", "why", "tokens", "step-time", "turns", "jct", "hits", "one-gap"];
const TABLES = ["answer", "provenance", "summary", "regimes", "claims", "missing"];

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
const RECORDED = SWEEP.replace(/name = "small"/, `name = "recorded"`).replace(/dram_gib = .*\n\[repeat\]\nn = 2/, "")
  .replace(/, "cpu_offload"|, "a100-40gb"/g, "").replace(/\[workload\][^]*/, `[workload]\nkind = "trace"\ngap_fallback_s = 1.0\npath = "jobs.jsonl"\n`);

// Really executes: whatever this machine takes for it, its figures are measured.
const EXECUTED = `schema = 1
[sweep]
name = "executed"
backend = "cpu"
[axes]
gpu = ["h100-80gb"]
model = ["tiny-llama-3"]
policy = ["fcfs", "continuum"]
jps = [20]
[engine]
kv_tokens = 2048
max_model_len = 1024
max_num_batched_tokens = 256
max_num_seqs = 4
dtype = "float32"
[workload]
kind = "agent8"
jobs = 2
scale = 0.02
gap_s = 0.01
`;

let folder, browser, skipped = "";

function kvsweep(...words) {
  return execFileSync(program, words, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

const reportFolder = (archives) => join(folder, `report-of-${archives.join("-").replaceAll(".h5", "")}`);

/** The page of a report of these archives; complaints of the page are collected in `problems`. */
async function openReport(archives, { hash = "", dark = false, width = 1280 } = {}) {
  const dir = reportFolder(archives);
  if (!existsSync(dir)) kvsweep("report", ...archives, "-o", dir);
  return openPage(join(dir, "index.html"), "#missing", { hash, dark, width });
}

async function openPage(file, last, { hash = "", dark = false, width = 1280 } = {}) {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light" });
  page.problems = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(error.message));
  page.on("request", (request) => /^https?:/.test(request.url()) && page.problems.push(`asked the network for ${request.url()}`));
  await page.goto(pathToFileURL(file).href + hash);
  await page.waitForSelector(last);
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

/** The rows of a saved file. Chromium on a busy machine may save nothing at a first click. */
async function csvOf(page, place) {
  const save = async (timeout) => {
    const [download] = await Promise.all([page.waitForEvent("download", { timeout }), page.locator(`${place} button.csv`).first().click()]);
    return readFileSync(await download.path(), "utf8").trim().split("\r\n");
  };
  return save(15_000).catch(() => save(30_000));
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
  const rest = { extends: 0, prompt: [[null, 10]], answer: [[null, 4]] };
  const lines = [{ kvsweep_trace: 1, converter: "test", counts: { jobs: 2, turns: 6, prompt_tokens: 2 * (260 + 274 + 288), answer_tokens: 24, arrivals: 0, gaps: 0, starts: 0 } },
    ...["plain", EVIL].map((job) => ({ job, turns: [{ prompt: [[job, 260]], answer: [[null, 4]] }, rest, { ...rest, extends: 1 }] }))];
  writeFileSync(join(folder, "jobs.jsonl"), lines.map((line) => JSON.stringify(line)).join("\n"));
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

in_browser("claims are closed by their sets on a narrow screen, counted by verdict, and open there too", async () => {
  const wide = await openReport(["small.h5"]);
  await wide.locator("#claims .check input").press("Space");
  assert.ok(await wide.locator("#claims .claim-set").evaluateAll((all) => all.length > 1 && all.every((each) => each.open)));
  const narrow = await openReport(["small.h5"], { width: 390 });
  await narrow.locator("#claims .check input").press("Space");
  const sets = narrow.locator("#claims .claim-set");
  assert.ok(await sets.evaluateAll((all) => all.every((each) => !each.open)));
  const shut = await narrow.locator("#claims").evaluate((element) => element.offsetHeight);
  assert.ok(shut < 1200, `the claims are ${shut} px long`);
  assert.match(await sets.first().locator("summary").innerText(), /^[\w-]+: \d+ (undecided|reproduced|not reproduced|assumed).*\(claims, \d+ checks?\)/);
  await sets.first().locator("summary").click();
  assert.ok(await sets.first().locator("tbody tr").first().isVisible());
  for (const page of [wide, narrow]) await page.close();
});

const LADDER = `schema = 1
[sweep]
name = "ladder"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["fcfs", "continuum"]
jps = [2]
"engine.block_size" = [8, 16]
"engine.max_num_seqs" = [2, 3, 4, 5, 6, 7, 8]
[workload]
kind = "swe_smith_like"
jobs = 3
`;

in_browser("more than a dozen settings stay behind a line that says what they share, below the answer", async () => {
  writeFileSync(join(folder, "ladder.toml"), LADDER);
  const single = LADDER.replace(/"engine.*\n/g, "").replace("ladder", "single").replace("jobs = 3", "jobs = 4");
  writeFileSync(join(folder, "single.toml"), single);
  for (const name of ["ladder", "single"]) kvsweep("run", `${name}.toml`, "--archive", `${name}.h5`);
  const page = await openReport(["ladder.h5", "single.h5"]);
  const order = await page.locator("#app > section").evaluateAll((all) => all.map((each) => each.id));
  assert.deepEqual(order.slice(0, 4), ["picture", "regimes", "answer", "warnings"]);
  assert.ok(order.indexOf("claims") > order.indexOf("panel"), order.join(" "));
  for (const [id, items] of [["summary", "article"], ["regimes", "article"]]) {
    const lines = page.locator(`#${id} .fold > summary`), line = lines.first();
    assert.equal(await lines.count(), 2, id);
    assert.match(await line.innerText(), /^14 \w+ by engine\.block_size, engine\.max_num_seqs: h100-80gb .*workload\.jobs=3.*MODELLED/s);
    assert.equal(await page.locator(`#${id} ${items}`).count(), 0, `${id} is closed`);
    await line.focus();
    await page.keyboard.press("Enter");
    const found = page.locator(`#${id} ${items}`);
    await found.first().waitFor();
    assert.equal(await found.count(), 14);
    const first = await found.first().innerText();
    assert.ok(first.includes("engine.block_size=8") && !first.includes("workload.jobs"), first);
  }
  await page.locator('select[aria-label="figure"]').selectOption("ttft_mean_s");
  assert.match(await page.locator("#summary article").first().innerText(), /ttft_mean_s \[s\]/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

in_browser("the first screen is a picture, mean and tail by load, with the map of three cards beside it; sentences follow", async () => {
  const matrix = join(source, "sweeps/experiments/matrix-72.toml");
  kvsweep("run", matrix, "--set", "workload.jobs=12", "--set", "repeat.n=3", "--archive", "matrix.h5");
  const page = await openReport(["matrix.h5"], { width: 1400 });
  await drawn(page, "load");
  const boxes = {};
  for (const id of ["load", "regimes", "answer"]) boxes[id] = await page.locator(`#${id}`).boundingBox();
  for (const id of ["load", "regimes"]) assert.ok(boxes[id].y + boxes[id].height <= 900, `${id} ends at ${Math.round(boxes[id].y + boxes[id].height)} px`);
  assert.ok(boxes.load.x + boxes.load.width <= boxes.regimes.x, "the map is beside the picture");
  assert.ok(boxes.answer.y >= boxes.load.y + boxes.load.height, "the answer is below");
  const panels = new Set((await csvOf(page, "#load")).slice(1).map((line) => line.split(",")[1]));
  assert.deepEqual([...panels], ["mean", "p99"]);
  assert.match(await page.locator("#answer .said").first().innerText(), /^h100-80gb with 16 GiB: At 1\b.* jobs?\/s .*(is best|tie|may be best).*\./s);
  await page.screenshot({ path: join(shots, "report-first-screen-1400.png") });
  await page.close();
});

in_browser("every panel draws in both themes and on a narrow screen, and the page never complains", async () => {
  for (const [dark, width] of [[false, 1280], [true, 1280], [true, 390]]) {
    const page = await openReport(["small.h5"], { dark, width });
    for (const id of CHARTS) await drawn(page, id);
    for (const id of width === 1280 ? [...CHARTS, ...TABLES] : TABLES) {
      await page.locator(`#${id}`).screenshot({ path: join(shots, `report-${id}-${width}-${dark ? "dark" : "light"}.png`) });
    }
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, "nothing sticks out sideways");
    const clipped = await page.locator(".scroll:not(pre)").evaluateAll((all) =>
      all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.getAttribute("aria-label")));
    assert.deepEqual(clipped, [], "every table fits");
    assert.deepEqual(page.problems, []);
    await page.close();
  }
});

in_browser("the page is one small file with the question, the summary and what is missing", async () => {
  const page = await openReport(["small.h5"]);
  assert.deepEqual(readdirSync(reportFolder(["small.h5"])), ["index.html"]);
  assert.ok(statSync(join(reportFolder(["small.h5"]), "index.html")).size < 5e6);
  const text = await page.locator("#app").innerText();
  for (const wanted of ["Which policy is <b>best</b>? And why?", "MODELLED", "cpu_offload-64G", "30 of 30 planned cells", `left out to see ${EVIL}`]) {
    assert.ok(text.includes(wanted), `the page says ${wanted}`);
  }
  assert.equal(await page.locator("#summary article").count(), 2);
  assert.match(await page.locator("#summary td.best, #summary td.tie").first().innerText(), /^(★|tie)[^]*n=2/);
  assert.match(await page.locator("#regimes").innerText(), /n=2/);
  assert.match(await page.locator("#app").innerText(), /By mean job completion time; MODELLED[^]*2 seeds, no intervals below three; 30 of 30 cells have a result; 2 excluded[^]*h100-80gb/);
  await page.close();
});

in_browser("what the policies did is of the chosen GPU and rate", async () => {
  const page = await openReport(["small.h5"]);
  assert.match(await page.locator("#acts").innerText(), /pool pinned[^]*continuum/);
  const looks = await page.locator("#panel .policies button").evaluateAll((all) =>
    all.map((each) => each.querySelector(".swatch").style.borderTop));
  assert.equal(new Set(looks).size, looks.length, `chips look alike: ${looks}`);
  await page.locator('select[aria-label="arrival rate of what policies did"]').selectOption("1");
  assert.match(await page.locator("#acts h3").innerText(), /1 job\/s/);
  await page.close();
});

in_browser("a printed page has every chart drawn, in light colors", async () => {
  const page = await openReport(["small.h5"], { dark: true });
  await page.pdf({ path: join(shots, "report.pdf") });
  const blank = await page.evaluate(() => [...document.querySelectorAll(".chart")].filter((box) => !box.querySelector("canvas")).length);
  assert.equal(blank, 0);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark", "and is dark again on the screen");
  await page.close();
});

in_browser("a printed chart is drawn for the paper before the next frame, then for the screen again", async () => {
  const page = await openReport(["small.h5"]);
  await drawn(page, "jct");
  const print = (event) => page.evaluate(async (name) => {
    window.dispatchEvent(new Event(name));
    const canvas = document.querySelector("#jct .chart canvas"), at_once = canvas.toDataURL();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return { width: parseFloat(canvas.style.width), room: canvas.closest(".chart").clientWidth, is_final: canvas.toDataURL() === at_once };
  }, event);
  const on_paper = await print("beforeprint"), after = await print("afterprint");
  assert.ok(on_paper.width < 360 && on_paper.is_final, JSON.stringify(on_paper));
  assert.equal(after.width, after.room);
  await page.close();
});

in_browser("on paper no chart is taller than the rest of a page, and nothing is shown that paper cannot do", async () => {
  const page = await openReport(["small.h5"]);
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  const heights = await page.locator(".chart canvas").evaluateAll((all) => all.map((each) => parseFloat(each.style.height)));
  assert.ok(heights.length >= CHARTS.length && Math.max(...heights) <= 560, JSON.stringify(heights));
  for (const what of [".key-help", "select", "button"])
    assert.equal(await page.locator(what).filter({ visible: true }).count(), 0, what);
  assert.equal(await page.locator(".panel").evaluate((each) => getComputedStyle(each).display), "block", "a grid leaves pages half empty");
  await page.close();
});

in_browser("each control changes what the charts show, and the address keeps it", async () => {
  const page = await openReport(["small.h5"]);
  await drawn(page, "turns");
  assert.match(await note(page, "turns"), /6 jobs\/s, 2 repeats/, "rates are pooled only if the reader asks for it");
  await page.locator('select[aria-label="arrival rate"]').selectOption("all");
  assert.match(await note(page, "turns"), /all rates together, 2 repeats/);
  await page.locator('select[aria-label="arrival rate"]').selectOption("6");
  assert.match(await note(page, "turns"), /6 jobs\/s/);
  await page.locator('select[aria-label="GPU"]').selectOption("1");
  assert.match(await page.evaluate(() => location.hash), /panel=1.*rate=6/);
  await drawn(page, "hits");
  await page.locator('select[aria-label="policy in detail"]').selectOption("fcfs");
  assert.match(await note(page, "hits"), /^fcfs: /);
  await drawn(page, "step-time");
  await page.locator("#step-time").getByRole("button", { name: "total" }).click();
  assert.equal(await page.locator("#tokens").getByRole("button", { name: "total" }).getAttribute("aria-pressed"), "true");
  await page.locator('select[aria-label="figure"]').selectOption("ttft_mean_s");
  assert.match(await page.locator("#summary").innerText(), /ttft_mean_s \[s\]/);
  const hash = await page.evaluate(() => location.hash);
  const again = await openReport(["small.h5"], { hash });
  await drawn(again, "hits");
  assert.equal(await note(again, "hits"), await note(page, "hits"));
  assert.deepEqual([...page.problems, ...again.problems], []);
  await page.close();
  await again.close();
});

in_browser("the address keeps every control, and a link shows what its sender saw", async () => {
  const page = await openReport(["small.h5"]);
  const selects = page.locator("#app select"), boxes = page.locator('#app input[type="checkbox"]');
  for (const select of await selects.all()) {
    const last = await select.locator("option").last().getAttribute("value");
    await select.selectOption({ value: last });
    assert.equal(await select.inputValue(), last);
  }
  // A chart that is first drawn moves what is below it, and with it a box from under the pointer.
  for (const id of await page.locator(".chart-card").evaluateAll((all) => all.map((each) => each.id))) await drawn(page, id);
  for (const box of await boxes.all()) await box.check();
  for (const each of await page.locator(".switch button:last-child").all()) await each.click();
  await page.locator('.panel .policies button[data-variant="continuum"]').click();
  const seen = async (of) => ({
    chosen: await of.locator("#app select").evaluateAll((all) => all.map((each) => each.value)),
    checked: await of.locator('#app input[type="checkbox"]').evaluateAll((all) => all.map((each) => each.checked)),
    pressed: await of.locator('#app button[aria-pressed="true"]').allInnerTexts(),
    tables: await of.locator("#summary, #claims").allInnerTexts(),
  });
  const before = await seen(page);
  assert.ok(before.checked.length >= 1 && before.checked.every(Boolean));
  const again = await openReport(["small.h5"], { hash: await page.evaluate(() => location.hash) });
  assert.deepEqual(await seen(again), before);
  await again.evaluate(() => (location.hash = "#hide=fcfs"));
  await again.waitForSelector('.panel .policies button[data-variant="fcfs"][aria-pressed="false"]');
  assert.deepEqual([...page.problems, ...again.problems], []);
  await page.close();
  await again.close();
});

in_browser("the theme is the system's until the reader chooses one", async () => {
  const page = await openReport(["small.h5"], { dark: true });
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await theme(), "dark");
  await page.emulateMedia({ colorScheme: "light" });
  await page.waitForFunction(() => document.documentElement.dataset.theme === "light");
  await page.locator(".theme-toggle").click();
  assert.equal(await theme(), "dark");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.emulateMedia({ colorScheme: "light" });
  assert.equal(await theme(), "dark", "the choice stays");
  assert.deepEqual(page.problems, []);
  await page.close();
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
  let page = await openReport(["small.h5"]), saved = 0;
  for (const id of [...CHARTS, "summary", "regimes", "claims", "missing"]) {
    // Chromium holds back the eleventh file that a page saves.
    if (++saved % 6 === 0) {
      await page.close();
      page = await openReport(["small.h5"]);
    }
    if (CHARTS.includes(id)) await drawn(page, id);
    const [head, ...rows] = await csvOf(page, `#${id}`);
    assert.ok(rows.length > 0, `${id} has rows`);
    const names = head.split(",");
    assert.ok(names.includes("figures"), `${id} says of which kind`);
    if (id !== "claims") assert.ok(rows.every((row) => row.includes("MODELLED (sim, published)")), `${id}: every row is modelled`);
    if (id !== "missing") assert.ok(names.includes("repeats"), `${id} says over how many repeats`);
  }
  await drawn(page, "one-gap");
  const gap = (await csvOf(page, "#one-gap")).map((line) => line.split(",")[0]);
  for (const what of ["KV on the GPU", "tool", "decode", "pinned"]) assert.ok(gap.includes(what), `one gap has ${what}`);
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
  writeFileSync(join(folder, "executed.toml"), EXECUTED);
  kvsweep("run", "kernels.toml", "--archive", "kernels.h5", "--only", "gpu=h100-80gb,jps=6");
  kvsweep("run", "executed.toml", "--archive", "executed.h5");
  const page = await openReport(["small.h5", "kernels.h5", "executed.h5"]);
  const gpus = await page.locator('select[aria-label="GPU"] option').allInnerTexts();
  assert.equal(gpus.length, 4);
  const kinds = await page.locator("#regimes article h3").allInnerTexts();
  assert.equal(new Set(kinds).size, kinds.length);
  for (const table of await page.locator("#summary article, #regimes article").all()) {
    assert.equal(await table.locator(".badge").count(), 1, "one kind a table");
  }
  const measured = gpus.findIndex((text) => text.includes("MEASURED (cpu)"));
  await page.locator('select[aria-label="GPU"]').selectOption(String(measured));
  for (const id of CHARTS) {
    await drawn(page, id);
    assert.match(await note(page, id), /MEASURED \(cpu\)/, id);
  }
  assert.deepEqual(page.problems, []);
  await page.close();
});

in_browser("without the web build report.json has the tables", async () => {
  const alone = join(folder, "alone"), bin = join(alone, "build/plain/bin");
  mkdirSync(bin, { recursive: true });
  symlinkSync(join(source, "analysis"), join(alone, "analysis"));
  copyFileSync(program, join(bin, "kvsweep"));
  const words = ["report", "recorded.h5", "-o", "plain", "--profiles", join(source, "sweeps")];
  const said = execFileSync(join(bin, "kvsweep"), words, { cwd: folder, encoding: "utf8" });
  assert.match(said, /built without its web pages/);
  const data = JSON.parse(readFileSync(join(folder, "plain/report.json"), "utf8"));
  const headings = data.tables.map((table) => table.heading).join();
  for (const wanted of ["What is best where", "Cells without results"]) assert.ok(headings.includes(wanted), wanted);
});
