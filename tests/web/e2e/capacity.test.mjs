// The first screen of an archive of `kvsweep capacity`: how many agents, what stops more of them, and what that yields.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { join } from "node:path";
import { Pages, Workplace, csvOf, drawn, skipUnlessRunnable } from "./pages.mjs";

skipUnlessRunnable();

const SWEEP = `schema = 1
[sweep]
name = "agents"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["fcfs", "job_fcfs_offload"]
dram_gib = [8, 64]
"workload.live" = [1, 12]
"workload.seed" = [1, 2, 3]
[engine]
kv_tokens = 40000
[workload]
kind = "swe_smith_like"
arrivals = "live"
jobs = 16
gap_s = 2.0
[sim]
cost_model = "kernels"
[[override]]
policy = ["job_fcfs_offload"]
"policy.host_eviction" = "next_use"
[capacity]
slo = "ttft_p90=0.4,first_token_p90=10"
`;
const place = new Workplace("capacity");
let pages;
let page;

const section = () => page.locator("#capacity");
const card = (title) => section().locator("article", { has: page.locator("h3", { hasText: title }) }).first();
const texts = async (locator) => (await locator.allInnerTexts()).map((each) => each.trim());

before(async () => {
  place.write("agents.toml", SWEEP);
  place.kvsweep("capacity", "agents.toml", "--archive", "agents.h5");
  place.kvsweep("report", "agents.h5", "-o", "page");
  pages = await Pages.start();
  page = await pages.openReport(place);
});

after(async () => {
  await pages?.close();
  place.close();
});

test("the capacities are the first on the page, with the limits and a key for each host memory", async () => {
  assert.equal(await page.locator("section").first().getAttribute("id"), "capacity");
  const capacities = card("Capacity: agents per GPU");
  await capacities.locator("canvas").waitFor();
  const keys = (await texts(capacities.locator(".keys li"))).map((each) => each.replace(/\n/, " "));
  assert.deepEqual(keys, ["● no host memory", "▶ 8 GiB, at least", "▶ 64 GiB, at least"]);
  assert.match(await capacities.locator(".note").innerText(), /ttft_p90 <= 0.4 s, first_token_p90 <= 10 s/);
  const rows = await csvOf(capacities);
  assert.deepEqual([...new Set(rows.map((row) => row.policy))], ["fcfs", "job_fcfs_offload+host_eviction=next_use"]);
});

test("each policy and host memory has a place of its own, so that none hides another", async () => {
  const rows = await csvOf(card("Capacity: agents per GPU"));
  assert.deepEqual(rows.map((row) => row["policy and host memory"]), ["fcfs", ...["8 GiB", "64 GiB"].map((dram) =>
    `job_fcfs_offload+host_eviction=next_use, ${dram}`)]);
  assert.match(rows[0].binds, /_p90 <= /);
});

test("the numbers of the front say how many agents each point is", async () => {
  const rows = await csvOf(card("Throughput against interactivity"));
  assert.ok(rows.every((row) => Number(row.agents) >= 1 && row.jps === "" && row.label === undefined));
});

test("the key of the front shows the mark of each host memory", async () => {
  const marks = await card("Throughput against interactivity").locator(".keys .swatch").evaluateAll((all) =>
    all.map((each) => each.dataset.mark ?? each.textContent));
  assert.deepEqual(marks, ["", "■", "▲", "○"]);
});

test("a row says how many agents, how many more than fcfs, and what stops the next", async () => {
  const heads = await texts(section().locator("thead th"));
  const row = await texts(section().locator("tbody tr", { hasText: "fcfs" }).first().locator("th, td"));
  const at = (name) => row[heads.findIndex((head) => head.startsWith(name))];
  assert.match(at("capacity"), /^\d+(\.\d+)? \(/);
  assert.match(at("binds"), /_p90 <= /);
  assert.match(at("the next step breaks"), / s at \d.* of 3\)$/);
  assert.notEqual(heads.indexOf("of fcfs"), -1);
});

test("the table and the names of policies are not cut", async () => {
  const cut = await section().locator(".scroll").evaluateAll((all) => all.filter((each) => each.scrollWidth > each.clientWidth).length);
  assert.equal(cut, 0);
  await drawn(page);
  await section().screenshot({ path: join(place.screenshots, "capacity.png") });
});

test("charts are written in the font of the page", async () => {
  const toggle = page.locator(".theme-toggle");
  await page.evaluate(() => {
    const { fillText } = CanvasRenderingContext2D.prototype;
    window.fonts = new Set();
    CanvasRenderingContext2D.prototype.fillText = function (...words) {
      window.fonts.add(this.font);
      fillText.apply(this, words);
    };
  });
  for (const _ of ["dark", "light"]) {
    await toggle.click();
    await drawn(page);
  }
  const [fonts, family] = await page.evaluate(() => [[...window.fonts], getComputedStyle(document.body).fontFamily]);
  assert.notEqual(fonts.length, 0);
  assert.deepEqual(fonts.filter((font) => !font.endsWith(`px ${family}`)), []);
});

test("no page wrote to the console or asked the network for anything", () => {
  assert.deepEqual(pages.complaints.filter((each) => !/willReadFrequently/.test(each)), []);
});
