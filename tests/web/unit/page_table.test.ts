import { deflateSync } from "node:zlib";
import { readKvData } from "@/viewer/page_events";
import { TableReader, type PageColumn } from "@/viewer/page_table";
import type { PackedInts } from "@/viewer/packed_ints";

type How = { bytes: number; unit?: number; planes?: boolean; difference?: boolean; wide?: boolean; deflate?: boolean };

/** Numbers as the program packs them (analysis/text/packed.cpp). */
function pack(values: number[], how: How): PackedInts {
  const { bytes, unit = 1, planes = true, difference = false, wide = false, deflate = false } = how;
  const stored = new Uint8Array(values.length * bytes);
  const [step, plane] = planes ? [1, values.length] : [bytes, 1];
  values.forEach((value, i) => {
    const whole = BigInt(value / unit) - (difference && i > 0 ? BigInt(values[i - 1]! / unit) : 0n);
    const code = whole >= 0n ? 2n * whole : -2n * whole - 1n;
    for (let k = 0; k < bytes; ++k) stored[i * step + k * plane] = Number((code >> BigInt(8 * k)) & 255n);
  });
  const text = Buffer.from(deflate ? deflateSync(stored) : stored).toString("base64");
  return { bytes, unit, planes, difference, wide, ...(deflate ? { deflated: text } : { data: text }) };
}

const table = (rows: number, columns: Record<string, PageColumn>, names = {}) => TableReader.open({ rows, columns, names });
const column = async (values: number[], how: How, more = {}) =>
  [...(await table(values.length, { x: { ints: pack(values, how), rows: values.length, ...more } })).numbers("x")];

describe("a column of a page", () => {
  it("holds its numbers, however many bytes they take and whatever their order", async () => {
    const values = [0, -1, 1, 127, -128, 100];
    for (const bytes of [1, 2, 3, 4, 5, 7]) {
      for (const planes of [true, false]) expect(await column(values, { bytes, planes, deflate: bytes > 2 })).toEqual(values);
    }
    const large = [2 ** 51, -(2 ** 51), 0, 2 ** 40 + 1];
    expect(await column(large, { bytes: 7, wide: true })).toEqual(large);
  });

  it("may hold what is added to each number, and multiples of a unit", async () => {
    expect(await column([5e9, 5e9 + 1, 4e9], { bytes: 5, difference: true, wide: true })).toEqual([5e9, 5e9 + 1, 4e9]);
    expect(await column([4096, 0, 8192], { bytes: 1, unit: 4096 })).toEqual([4096, 0, 8192]);
    expect(await column([4096, 0, 8192], { bytes: 1, unit: 4096, difference: true })).toEqual([4096, 0, 8192]);
  });

  it("has a scale, and a number that stands for what was not observed", async () => {
    expect(await column([3, -1, 2], { bytes: 1 }, { scale: 0.5, none: -1 })).toEqual([1.5, NaN, 1]);
    const same = await table(2, { x: { same: null, rows: 2 }, y: { from: 7, rows: 2 }, z: { same: 4, rows: 2 } });
    expect(["x", "y", "z"].map((name) => [...same.numbers(name)])).toEqual([[NaN, NaN], [7, 8], [4, 4]]);
  });

  it("that is missing has no numbers, and no texts", async () => {
    const empty = await table(2, {});
    expect([...empty.numbers("x")]).toEqual([NaN, NaN]);
    expect([empty.maybe("x"), empty.texts("x"), empty.names("x")]).toEqual([null, ["", ""], []]);
  });

  it("of texts may name each of them once", async () => {
    const texts = await table(3, { plain: ["a", "b", "a"], coded: { texts: ["a", "b"], codes: pack([0, 1, 0], { bytes: 1 }) } });
    expect(texts.texts("coded")).toEqual(texts.texts("plain"));
  });

  it("may be what others leave of it", async () => {
    const read = await table(4, {
      start: { ints: pack([10, 20, 30, 40], { bytes: 1 }), rows: 4, scale: 0.5 },
      wait: { same: 1, rows: 4 },
      end: { ints: pack([0, 0, 1, 0], { bytes: 1 }), rows: 4, scale: 0.5, sum: { start: 1, wait: 3 } },
      job: { ints: pack([-1, 2, -1, 2], { bytes: 1 }), rows: 4 },
      turn: { ints: pack([5, 7, 1, -1], { bytes: 1 }), rows: 4, within: "job" },
    });
    expect([...read.numbers("end")]).toEqual([8, 13, 18.5, 23]);
    expect([...read.numbers("turn")]).toEqual([5, 7, 6, 6]);
  });

  it("that is damaged is refused", async () => {
    const cut = { bytes: 1, unit: 1, planes: true, difference: false, wide: false, deflated: deflateSync(Uint8Array.of(2)).toString("base64") };
    await expect(table(2, { x: { ints: cut, rows: 2 } })).rejects.toThrow("has 1 bytes, not 2");
  });
});

describe("the KV events of a page", () => {
  it("happen at the start or the end of their steps, or so much later", async () => {
    const columns: Record<string, PageColumn> = {
      step: { ints: pack([3, 3, 4, 4], { bytes: 1 }), rows: 4 },
      ended: { ints: pack([0, 1, 0, 1], { bytes: 1 }), rows: 4 },
      t_s: { ints: pack([0, 0, 0, 2], { bytes: 1 }), rows: 4, scale: 0.5, sum: { begun: 1, lasted: 1 } },
      job: { ints: { same: 0 }, rows: 4 },
    };
    const start = Float64Array.of(5, 8);
    const read = await readKvData({
      table: { rows: 4, columns, names: { kind: [], reason: [] } },
      steps: { n: 2, number: Int32Array.of(3, 4), start, toDevice: null, toHost: null },
      times: { starts: start.map((seconds) => 2 * seconds), durations: Float64Array.of(6, 4) },
      jobs: 1,
    });
    expect([...read.events.time]).toEqual([5, 8, 8, 11]);
    expect([...read.rows]).toEqual([0, 1, 1, 2]);
  });
});
