// The access log in the page of `kvsweep report`, over a log that kvsweep records on this processor.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { join } from "node:path";
import { Pages, Workplace, csvOf, drawn, skipUnlessRunnable } from "./pages.mjs";

skipUnlessRunnable();

const experiment = join(process.env.KVSWEEP_SOURCE ?? "", "sweeps/experiments/ipdps-access.toml");
const place = new Workplace("accesses");
let pages;
let page;

async function drawnChart(id, where = page) {
  await where.locator(`#${id}`).scrollIntoViewIfNeeded();
  await where.locator(`#${id} canvas`).waitFor();
  await drawn(where);
}

/** How many pixels of a chart have this colour, which stands in a variable of the theme. */
const inked = (id, variable) => page.locator(`#${id} canvas`).evaluate((canvas, name) => {
  const wanted = getComputedStyle(document.documentElement).getPropertyValue(name).trim().slice(1).match(/../g).map((each) => parseInt(each, 16));
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) count += wanted.every((value, k) => Math.abs(data[i + k] - value) < 3) && data[i + 3] > 250;
  return count;
}, variable);

const rowsOf = (id) => csvOf(page.locator(`#${id}`));

before(async () => {
  place.kvsweep("run", experiment, "--backend", "cpu", "--set", "model=tiny-llama-3", "--archive", "access.h5");
  place.kvsweep("report", "access.h5", "-o", "page");
  pages = await Pages.start();
  page = await pages.openReport(place);
});

after(async () => {
  await pages?.close();
  place.close();
});

test("every request's accesses are drawn in a colour of its own, keys above values", async () => {
  await drawnChart("access-0");
  const keys = await page.locator("#access-0 .keys li").allInnerTexts();
  assert.deepEqual(keys.map((each) => each.trim()),
    ["request 0, read", "request 1, read", "request 2, read", "request 3, read"]);
  for (const variable of ["--series-1", "--series-2", "--series-3", "--series-4"]) {
    assert.ok(await inked("access-0", variable) > 10, `${variable} is not on the chart`);
  }
  await page.locator("#access-0").screenshot({ path: join(place.screenshots, "accesses.png") });
});

test("the note says which part of the log is shown, and that pauses are cut", async () => {
  await drawnChart("access-0");
  const note = await page.locator("#access-0 .note").innerText();
  assert.match(note, /Layer 0, steps 1 to 5: 6772 of the cell's 6772 records\. Every access is drawn\. Filled: reads; hollow: writes\./);
  assert.match(note, /Dotted: \d+ pauses? of all accesses, cut to .*each\./);
  assert.match(await page.locator("#accesses h3").first().innerText(), /MEASURED \(cpu/);
});

test("CSV has every access drawn: writes in the first pass, whole blocks read in the others", async () => {
  await drawnChart("access-0");
  const rows = await rowsOf("access-0");
  assert.equal(rows.length, 6772);
  const keys_of_heads = 2;
  const written = rows.filter((row) => row.panel === "K" && row.series.endsWith("write") && row.step === "1");
  assert.equal(written.reduce((sum, row) => sum + Number(row.n_slots), 0), keys_of_heads * (16 + 343 + 16 + 893));
  const read = rows.filter((row) => row.panel === "V" && row.series === "request 1, read" && row.step === "3");
  assert.equal(read.reduce((sum, row) => sum + Number(row.n_slots), 0), keys_of_heads * 345);
});

test("arrow keys show an access: request, block, slots, head, step and time", async () => {
  await drawnChart("access-0");
  await page.locator("#access-0 .chart").focus();
  await page.keyboard.press("ArrowRight");
  await drawn(page);
  const tip = await page.locator("#access-0 .chart").innerText();
  assert.match(tip, /request 0, (read|write)/);
  for (const what of ["block", "first_slot", "n_slots", "key_head", "step", "t_ns", "dur_ns"]) assert.match(tip, new RegExp(`${what} [\\d,]+`));
  await page.keyboard.press("Escape");
});

test("the section fits a narrow dark page", async () => {
  const narrow = await pages.openReport(place, { colorScheme: "dark", viewport: { width: 390, height: 800 } });
  await drawnChart("access-0", narrow);
  assert.ok(await narrow.evaluate(() => document.documentElement.scrollWidth) <= 390);
  await narrow.locator("#access-0").screenshot({ path: join(place.screenshots, "accesses-390.png") });
  await narrow.close();
});

test("no page wrote to the console or asked the network for anything", () => {
  assert.deepEqual(pages.complaints.filter((each) => !/willReadFrequently/.test(each)), []);
});
