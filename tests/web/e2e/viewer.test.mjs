// The trace viewer in a browser, over an archive that kvsweep makes: every control, both themes, two widths.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Pages, Workplace, drawn, skipUnlessRunnable } from "./pages.mjs";

skipUnlessRunnable();

const EVIL = `<img src=x onerror="document.title='run'">`;
const SWEEP = `schema = 1
[sweep]
name = "seen"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["fcfs", "continuum", "cpu_offload"]
jps = [6]
dram_gib = [16]
[workload]
kind = "swe_smith_like"
jobs = 60
gap_s = 1.0
[engine]
kv_tokens = 160000
`;
/** Agents of two jobs: each spawns two subagents after its second turn, and one of these another one. */
const AGENTS = ["a", "b"].map((job) => {
  const rows = [
    ["0", "", [], 0], ["1", "", ["0"], 2000],
    ["2", "search", ["1"], 0], ["3", "search", ["2"], 1500], ["4", "test", ["1"], 500], ["5", "test", ["4"], 1000],
    ["6", "deep", ["3"], 0], ["7", "search", ["3", "6"], 500], ["8", "", ["1", "5", "7"], 0], ["9", "", ["8"], 3000],
  ];
  const turns = rows.map(([, agent, waits, wait], i) => ({
    ...(agent && { agent }), ...(waits.length > 0 && { after: waits.map(Number), gap_s: wait / 1000 }),
    prompt: [0, 1, 2, 3].map((each) => [1 + i * 100 + each + (job === "b" ? 10_000 : 0), 512]), answer: [[null, 60]],
  }));
  return { job, turns };
});
const TRACE = [
  { kvsweep_trace: 1, converter: "test", counts: { jobs: 2, turns: 20, prompt_tokens: 20 * 2048, answer_tokens: 20 * 60, arrivals: 0, gaps: 18, starts: 0 } },
  ...AGENTS,
];
const AGENT_SWEEP = `schema = 1
[sweep]
name = "agents"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["continuum"]
jps = [0.5]
[workload]
kind = "trace"
path = "agents.jsonl"
`;
const place = new Workplace("viewer");
let pages;
let page;

const text = (selector, where = page) => where.locator(selector).first().innerText();
const part = (name) => `[data-part="${name}"]`;
const fact = async (name, where = page) =>
  Number((await where.locator(".fact", { hasText: name }).first().locator("b").innerText()).replace(/,/g, ""));
const step = () => fact("step");
const press = async (key) => {
  await page.keyboard.press(key);
  await drawn(page);
};
const shot = (name, where = page) => where.screenshot({ path: join(place.screenshots, `viewer-${name}.png`), fullPage: true });
const ready = (where) =>
  where.waitForFunction(() => {
    const panes = [...document.querySelectorAll(".pane")];
    return panes.length > 0 && panes.every((pane) => "complete" in pane.dataset && pane.querySelector("[data-part=summary]").textContent);
  });

/** Writes the trace of a cell as the files of JSON lines that the page opens. */
function writeLines(archive, cell, prefix) {
  for (const kind of ["steps", "requests", "events"]) place.kvsweep("trace", archive, cell, `--${kind}`, "-o", `${prefix}.${kind}.jsonl`);
}

before(async () => {
  place.write("seen.toml", SWEEP);
  place.kvsweep("run", "seen.toml", "--archive", "seen.h5");
  for (const cell of ["0", "1"]) writeLines("seen.h5", cell, `cell-00${cell}`);
  place.kvsweep("trace", "seen.h5", "1", "--view", "-o", "one.html");
  place.kvsweep("trace", "seen.h5", "1", "--view", "--beside", "0", "-o", "two.html");
  pages = await Pages.start();
  page = await pages.open(place.path("one.html"), "#step=700");
  await ready(page);
});

after(async () => {
  await pages?.close();
  place.close();
});

test("a link names the step that is shown, and the address follows the cursor", async () => {
  assert.equal(await step(), 700);
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => location.hash.includes("step=701"));
  await page.evaluate(() => (location.hash = "#step=650"));
  await page.waitForFunction(() => document.querySelector(".fact b").textContent === "650");
});

test("keys move by one step, ten and a hundred, and to both ends", async () => {
  await page.evaluate(() => document.activeElement.blur());
  const expected = [["ArrowRight", 651], ["ArrowLeft", 650], ["Shift+ArrowRight", 660], ["PageDown", 760], ["PageUp", 660], ["Home", 1]];
  for (const [key, number] of expected) {
    await press(key);
    assert.equal(await step(), number, key);
  }
  await press("End");
  assert.equal(await step(), Number((await text(part("summary"))).match(/of ([\d,]+)/)[1].replace(/,/g, "")));
});

test("buttons, the slider and the step box move the cursor", async () => {
  await page.getByLabel("First step").click();
  await page.getByLabel("Step on").click();
  await drawn(page);
  assert.equal(await step(), 2);
  await page.getByLabel("Step back").click();
  await drawn(page);
  assert.equal(await step(), 1);
  await page.getByLabel("Last step").click();
  await drawn(page);
  const last = await step();
  await page.getByLabel("Time", { exact: true }).fill("5");
  await drawn(page);
  assert.ok((await step()) > 1 && (await step()) < last);
  await page.getByLabel("Go to step").fill("700");
  await page.getByLabel("Go to step").press("Enter");
  await drawn(page);
  assert.equal(await step(), 700);
});

test("the lists of a step have as many rows as its numbers say, at any step", async () => {
  const count = async (name) => Number((await text(`${part(name)} h3 small`)).replace(/,/g, ""));
  let waited = 0;
  for (const number of [1, 60, 300, 782, 900, 1200, 2000, 4000]) {
    await page.getByLabel("Go to step").fill(String(number));
    await page.getByLabel("Go to step").press("Enter");
    await drawn(page);
    assert.equal(await count("running"), await fact("running"), `running at step ${number}`);
    assert.equal(await count("waiting"), await fact("waiting"), `waiting at step ${number}`);
    waited += await count("waiting");
  }
  assert.ok(waited > 0, "nobody waited in any of these steps");
});

test("a step under pressure says why admission stopped and which pins are held for how long", async () => {
  await page.getByLabel("Go to step").fill("900");
  await page.getByLabel("Go to step").press("Enter");
  await drawn(page);
  assert.match(await text(part("waiting")), /Admission: .+ \(isl_reserve\)/);
  assert.match(await text(part("pins")), /TTL left/);
  assert.ok((await page.locator(`${part("pins")} tbody tr`).count()) > 0);
  assert.match(await text(part("blocks")), /allocated [\d,]+[^]*pinned [\d,]+[^]*cached [\d,]+[^]*free [\d,]+/);
  await shot("step-light");
});

test("play moves on until it is stopped", async () => {
  await page.getByLabel("First step").click();
  await page.getByLabel("Speed").selectOption("2"); // at 100, a slow machine is at the end before it can stop
  await page.getByLabel("Play (space)").click();
  await page.waitForFunction(() => Number(document.querySelector(".fact b").textContent.replace(/,/g, "")) > 5);
  await page.getByLabel("Play (space)").click();
  assert.equal(await page.getByLabel("Play (space)").getAttribute("aria-pressed"), "false");
});

test("zooming changes the window of the link, and Fit shows everything again", async () => {
  await page.getByLabel("Zoom in").click();
  await page.waitForFunction(() => location.hash.includes("from="));
  await page.getByLabel("Zoom out").click();
  await press("+");
  await press("-");
  await page.getByLabel("Show everything").click();
  await page.waitForFunction(() => !location.hash.includes("from="));
});

test("pressing on the timeline moves the cursor there", async () => {
  const box = await page.locator(".timeline").boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + 70);
  await drawn(page);
  const half = Number(await page.getByLabel("Time", { exact: true }).getAttribute("max")) / 2;
  const now = Number(await page.getByLabel("Time", { exact: true }).inputValue());
  assert.ok(Math.abs(now - half) < half / 5, `${now} is not near ${half}`);
});

test("a job is found by its name, and its waterfall, losses and link follow", async () => {
  await press("/");
  await page.keyboard.type("00017");
  await drawn(page);
  assert.equal(await page.locator(".jobs tbody tr").count(), 1);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("job=swe-smith-like-00017"));
  assert.match(await text(part("job-facts")), /swe-smith-like-00017[\s\S]*turns in[\s\S]*queue .* decode .* gap/);
  assert.ok(await page.locator(".waterfall canvas").isVisible());
  assert.match(await text(part("losses")), /Evicted by/);
});

test("subagents are drawn below the turn that spawned them", async () => {
  place.write("agents.jsonl", TRACE.map((row) => JSON.stringify(row)).join("\n"));
  place.write("agents.toml", AGENT_SWEEP);
  place.kvsweep("run", "agents.toml", "--archive", "agents.h5");
  writeLines("agents.h5", "0", "agents");
  place.kvsweep("trace", "agents.h5", "0", "--view", "-o", "agents.html");
  const csvOf = async (where) => {
    await ready(where);
    const [download] = await Promise.all([where.waitForEvent("download"), where.locator(`${part("job-facts")} .csv`).click()]);
    const rows = readFileSync(await download.path(), "utf8").trim().split("\r\n").slice(1);
    return rows.map((row) => row.split(",").slice(0, 2).map(Number));
  };
  const tree = [[1, 0], [2, 0], [3, 1], [4, 1], [7, 3], [8, 1], [5, 2], [6, 2], [9, 0], [10, 0]];
  const agents = await pages.open(place.path("agents.html"), "#job=a");
  assert.deepEqual(await csvOf(agents), tree);
  await agents.getByText("All jobs: what").click();
  await drawn(agents);
  assert.match(await agents.locator("canvas.lanes").getAttribute("aria-label"), /2 jobs/);
  await shot("agents", agents);
  await agents.close();
  const lines = await pages.open(join(process.env.KVSWEEP_PAGES, "viewer.html"), "#job=a");
  await lines.getByLabel("Open files of JSON lines").setInputFiles(["steps", "requests", "events"].map((kind) => place.path(`agents.${kind}.jsonl`)));
  assert.deepEqual(await csvOf(lines), tree);
  await lines.close();
});

test("a long list of jobs grows when more are asked for", async () => {
  await page.getByLabel("Find a job").fill("");
  await drawn(page);
  assert.equal(await page.locator(".jobs tbody tr").count(), 50);
  await page.locator(".jobs .more").click();
  assert.equal(await page.locator(".jobs tbody tr").count(), 60);
  assert.equal(await page.locator(".jobs .more").isVisible(), false);
});

test("jobs sort by every column, and a click opens one", async () => {
  for (const order of ["id", "arrive", "jct", "queue", "preemptions", "lost"]) {
    await page.locator(`[data-order="${order}"]`).click();
    assert.equal(await page.locator("th[aria-sort$=cending]").count(), 1);
  }
  await page.locator('[data-order="lost"]').click();
  await page.locator(".jobs tbody button").first().click();
  await drawn(page);
  assert.match(await text(part("losses")), /evict_gpu/);
  assert.match(await text(part("losses")), /swe-smith-like-\d+, turn \d+/);
});

test("what is drawn can be had as CSV", async () => {
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator(".under .csv").click()]);
  const csv = readFileSync(await download.path(), "utf8");
  assert.match(csv, /^series,panel,time \[s\],value,[^]*\r\nprefill,Tokens of a step,/);
  assert.ok(csv.split("\r\n").length > 100);
});

test("the theme follows the system, and the toggle overrules it", async () => {
  const dark = await pages.open(place.path("one.html"), "#step=700", { colorScheme: "dark" });
  await ready(dark);
  const background = () => dark.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await background();
  await shot("one-dark", dark);
  await dark.locator(".theme-toggle").click();
  await drawn(dark);
  assert.notEqual(await background(), before);
  await dark.close();
});

test("two policies stand side by side on one clock", async () => {
  const both = await pages.open(place.path("two.html"), "#t=10.5");
  await ready(both);
  assert.equal(await both.locator(".pane").count(), 2);
  const times = await both.locator(part("summary")).allInnerTexts();
  for (const each of times) assert.match(each, /, 10\.\d+ s/);
  await both.locator(".jobs tbody button").first().click();
  await drawn(both);
  const ids = await both.locator(`${part("job-facts")} .id`).allInnerTexts();
  assert.equal(ids.length, 2);
  assert.equal(ids[0], ids[1]);
  await shot("two-light", both);
  await both.close();
});

test("nothing sticks out at the width of a telephone", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const phone = await pages.open(place.path("two.html"), "#t=10.5", { viewport: { width: 390, height: 844 }, colorScheme });
    await ready(phone);
    assert.equal(await phone.evaluate(() => document.documentElement.scrollWidth), 390);
    await shot(`phone-${colorScheme}`, phone);
    await phone.close();
  }
});

/** What a step shows, in words; the same from an archive and from JSON lines. */
const shownOf = async (where) => {
  const panels = await Promise.all(["facts", "blocks", "running", "waiting", "pins", "events"].map((name) => text(part(name), where)));
  return panels.join("\n");
};

test("JSON lines that are dropped show what the archive shows", async () => {
  const drop = await pages.open(join(process.env.KVSWEEP_PAGES, "viewer.html"), "#step=900");
  const files = ["steps", "requests", "events"].map((kind) => place.path(`cell-001.${kind}.jsonl`));
  await drop.getByLabel("Open files of JSON lines").setInputFiles(files);
  await ready(drop);
  await drawn(drop);
  await page.evaluate(() => (location.hash = "#step=900"));
  await page.waitForFunction(() => document.querySelector(".fact b").textContent === "900");
  assert.equal(await shownOf(drop), await shownOf(page));
  await shot("jsonl", drop);
  await drop.close();
});

test("files that are dragged onto the page open, and a second trace goes beside the first", async () => {
  const drop = await pages.open(join(process.env.KVSWEEP_PAGES, "viewer.html"));
  for (const cell of ["cell-000", "cell-001"]) {
    const files = ["steps", "requests"].map((kind) => {
      const name = `${cell}.${kind}.jsonl`;
      return { name, text: readFileSync(place.path(name), "utf8").split("\n").slice(0, 400).join("\n") };
    });
    const dropped = await drop.evaluateHandle((given) => {
      const data = new DataTransfer();
      for (const { name, text } of given) data.items.add(new File([text], name));
      return data;
    }, files);
    await drop.dispatchEvent("body", "dragover", { dataTransfer: dropped });
    assert.equal(await drop.locator("body.dropping").count(), 1);
    await drop.dispatchEvent("body", "drop", { dataTransfer: dropped });
    await drop.waitForFunction((name) => document.querySelector("#app").innerText.includes(name) && !document.querySelector(".message").textContent, cell);
    await ready(drop);
  }
  assert.equal(await drop.locator(".pane").count(), 2);
  assert.equal(await drop.locator("body.dropping").count(), 0);
  await drop.close();
});

test("a drop that is no trace is refused by file and line, and text stays text", async () => {
  const drop = await pages.open(join(process.env.KVSWEEP_PAGES, "viewer.html"));
  const give = (name, lines) =>
    drop.getByLabel("Open files of JSON lines").setInputFiles([{ name, mimeType: "text/plain", buffer: Buffer.from(lines.join("\n")) }]);
  await give("odd.jsonl", ["{}", "{"]);
  await drop.waitForFunction(() => document.querySelector(".message").textContent.includes("odd.jsonl, line 2"));
  const id = `${EVIL}:0`;
  await give("sched_trace.fcfs.steps.jsonl", [
    JSON.stringify({ event: "step_snapshot", step: 1, ts: 1.7e9, free_blocks: 5, total_blocks: 10, num_running: 0, num_waiting: 1, running_req_ids: [], waiting_req_ids: [id] }),
    JSON.stringify({ event: "step_decision", step: 1, ts: 1.7e9, scheduled_new_req_ids: [id], num_scheduled_tokens: { [id]: 7 }, total_num_scheduled_tokens: 7 }),
    JSON.stringify({ event: "step_snapshot", step: 2, ts: 1.7e9 + 1, free_blocks: 4, total_blocks: 10, num_running: 1, num_waiting: 0, running_req_ids: [id], waiting_req_ids: [] }),
  ]);
  await ready(drop);
  assert.equal(await text(".jobs tbody button", drop), EVIL);
  await drop.locator(".jobs tbody button").first().click();
  await drawn(drop);
  assert.equal(await drop.locator("img").count(), 0);
  assert.notEqual(await drop.title(), "run");
  await drop.close();
});

test("no page wrote to the console or asked the network for anything", () => {
  assert.deepEqual(pages.complaints.filter((each) => !/willReadFrequently/.test(each)), []);
});
