// Figures of a study in the page of `kvsweep report`: what cells gave and published values beside each other.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { join } from "node:path";
import { Pages, Workplace, csvOf, drawn, skipUnlessRunnable } from "./pages.mjs";

skipUnlessRunnable();

const EVIL = `<img src=x onerror="document.title='run'">`;
const RATE = `source = "a paper of 2025"
x = "workload.output"
x_name = "answer [tok]"
series = "gpu"
series_name = { a100-sxm-40gb = "A100", h100-80gb = """${EVIL}""" }
y = "output_tok_per_s"
y_name = "output [tok/s]"
`;
const SWEEP = `# Do longer answers pay?
schema = 1
[sweep]
name = "answers"
backend = "sim"
[axes]
gpu = ["a100-sxm-40gb", "h100-80gb"]
model = ["llama-3.1-8b"]
policy = ["fcfs"]
"workload.output" = [16, 64]
[repeat]
n = 2
[sim]
cost_model = "kernels"
[workload]
kind = "fixed"
n = 8
prompt = 128
[figure.rate]
title = "Output rate"
${RATE}log = "x"
published.A100 = { 16 = 900, 64 = 1600, 256 = 1900 }
[figure.table]
title = "Output rate, as a table"
${RATE}draw = "table"
published.A100 = { 64 = 1600 }
[figure.broad]
title = "Output rate, as a broad table"
${RATE}draw = "table"
published.A100 = { 16 = 900, 64 = 1600, 128 = 1700, 256 = 1900, 512 = 11900, 1024 = 12000, 2048 = 12100 }
[figure.cards]
title = "Output rate by card"
draw = "bars"
where.workload.output = 64
x = "gpu"
y = "output_tok_per_s"
[figure.use]
title = "KV in use"
where.workload.output = 64
over = "time"
panel = "gpu"
`;
const SECTION = "section.study";
const place = new Workplace("studies");
let pages;
let page;

const card = (title, where = page) => where.locator(`${SECTION} article`, { has: where.locator("h3", { hasText: title }) }).first();
const texts = async (locator) => (await locator.allInnerTexts()).map((each) => each.trim());

/** Scrolls to a chart and waits until it has drawn something. */
async function drawnCard(title, where = page) {
  const found = card(title, where);
  await found.scrollIntoViewIfNeeded();
  await found.locator("canvas").waitFor();
  await drawn(where);
  const inked = await found.locator("canvas").evaluate((canvas) =>
    canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value !== 0));
  assert.ok(inked, `${title} is blank`);
  return found;
}

before(async () => {
  place.write("answers.toml", SWEEP);
  place.kvsweep("run", "answers.toml", "--archive", "answers.h5");
  place.kvsweep("report", "answers.h5", "-o", "page");
  pages = await Pages.start();
  page = await pages.openReport(place);
});

after(async () => {
  await pages?.close();
  place.close();
});

test("a chart holds what cells gave, published values dashed beside it, and says whose each is", async () => {
  const rate = await drawnCard("rate: Output rate");
  const keys = await texts(rate.locator(".keys li"));
  assert.deepEqual(keys, ["A100", "A100, published", EVIL]);
  const styles = await rate.locator(".keys li .swatch").evaluateAll((all) => all.map((each) => getComputedStyle(each).borderTopStyle));
  assert.equal(styles[0], "solid");
  assert.notEqual(styles[1], "solid");
  assert.match(await rate.innerText(), /MODELLED \(sim, kernels\)/);
  const note = await rate.locator(".note").innerText();
  assert.match(note, /Published: a paper of 2025\./);
  await rate.screenshot({ path: join(place.screenshots, "studies-rate.png") });
});

test("a place under the pointer shows ours and theirs", async () => {
  const rate = await drawnCard("rate: Output rate");
  await rate.locator(".chart").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await drawn(page);
  const tip = await rate.locator(".chart").innerText();
  assert.match(tip, /answer \[tok\] 64/);
  assert.match(tip, /A100, published\s+1,600/);
  await page.keyboard.press("Escape");
});

test("CSV has ours and theirs in columns", async () => {
  const rows = await csvOf(await drawnCard("rate: Output rate"));
  const at = (series, x) => rows.find((row) => row.series === series && row["answer [tok]"] === x);
  assert.equal(at("A100, published", "64")["output [tok/s]"], "1600");
  assert.ok(Number(at("A100", "64")["output [tok/s]"]) > 0);
  assert.equal(at("A100", "64").repeats, "2");
  assert.equal(at("A100", "64").figures, "MODELLED (sim, kernels)");
  assert.deepEqual([at("A100", "256"), at("A100, published", "256").figures], [undefined, "published"]);
});

test("a table has published values below ours", async () => {
  const table = card("table: Output rate, as a table");
  assert.deepEqual(await texts(table.locator("thead th")), ["answer [tok]", "16", "64"]);
  assert.deepEqual(await texts(table.locator("tbody th")), ["A100", "A100, published", EVIL]);
  assert.deepEqual(await texts(table.locator("tbody tr", { hasText: "published" }).locator("td")), ["–", "1,600"]);
  await table.screenshot({ path: join(place.screenshots, "studies-table.png") });
});

test("no table is cut", async () => {
  const cut = await page.locator(`${SECTION} .scroll`).evaluateAll((all) =>
    all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.getAttribute("aria-label")));
  assert.deepEqual(cut, []);
  const gap = page.locator("#one-gap");
  await gap.scrollIntoViewIfNeeded();
  await gap.locator("canvas").waitFor();
  await drawn(page);
  const { height } = await gap.boundingBox();
  assert.ok(height < 140, `${height} px for a sentence`);
});

test("bars and levels over time draw too, a chart for each panel", async () => {
  const cards = await drawnCard("cards: Output rate by card");
  assert.deepEqual(await texts(cards.locator(".keys li")), ["these cells"]);
  await cards.screenshot({ path: join(place.screenshots, "studies-bars.png") });
  for (const gpu of ["a100-sxm-40gb", "h100-80gb"]) {
    const use = await drawnCard(`use: KV in use, ${gpu}`);
    assert.deepEqual(await texts(use.locator(".keys li")), ["device KV", "host KV"]);
  }
});

test("names stay text, in the dark and on a narrow screen too", async () => {
  const narrow = await pages.openReport(place, { colorScheme: "dark", viewport: { width: 390, height: 800 } });
  await drawnCard("rate: Output rate", narrow);
  const wide = await narrow.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 390, `the page is ${wide} px wide`);
  assert.equal(await narrow.locator("img").count(), 0);
  assert.notEqual(await narrow.title(), "run");
  await card("rate: Output rate", narrow).screenshot({ path: join(place.screenshots, "studies-rate-390.png") });
  await narrow.close();
});

test("no page wrote to the console or asked the network for anything", () => {
  assert.deepEqual(pages.complaints.filter((each) => !/willReadFrequently/.test(each)), []);
});
