import { bytesOfBase64 } from "@/shared/columns";

/**
 * Whole numbers as written by analysis/text/packed.hpp: each is `unit` times an integer; with `difference`, that is
 * added to the preceding number. Integers are zigzag coded in `bytes` bytes, with `planes` all lowest bytes first. Numbers
 * that do not fit into 32 bits are `wide`.
 */
export type PackedInts = { same: number } | PackedList;

interface PackedList {
  bytes: number;
  unit: number;
  planes: boolean;
  difference: boolean;
  wide: boolean;
  deflated?: string;
  data?: string;
}

/** Only two kinds of arrays, since code that reads many kinds is slow. */
export type Whole = Int32Array | Float64Array;

/** Inflates to `size` bytes. */
export async function inflated(deflated: Uint8Array<ArrayBuffer>, size: number): Promise<Uint8Array<ArrayBuffer>> {
  const { readable, writable } = new DecompressionStream("deflate");
  const writer = writable.getWriter();
  const written = Promise.all([writer.write(deflated), writer.close()]);
  const reader = readable.getReader();
  const bytes = new Uint8Array(new ArrayBuffer(size));
  let done = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    bytes.set(next.value, done);
    done += next.value.length;
  }
  await written;
  if (done !== size) throw new RangeError(`a column has ${done} bytes, not ${size}`);
  return bytes;
}

export async function unpackInts(packed: PackedInts, rows: number): Promise<Whole> {
  if ("same" in packed) return new Float64Array(rows).fill(packed.same);
  const stored = bytesOfBase64(packed.deflated ?? packed.data ?? "");
  const bytes = packed.deflated === undefined ? stored : await inflated(stored, rows * packed.bytes);
  const { unit, difference, wide } = packed;
  const values = packed.bytes <= 4 ? narrow(bytes, rows, packed) : broad(bytes, rows, packed);
  if (difference) return wide ? summed(values, unit, new Float64Array(rows)) : summed(values, unit, new Int32Array(rows));
  if (unit === 1) return values;
  const made = new Float64Array(rows);
  for (let i = 0; i < rows; ++i) made[i] = values[i]! * unit;
  return made;
}

function summed(values: Whole, unit: number, made: Whole): Whole {
  let before = 0;
  for (let i = 0; i < values.length; ++i) made[i] = before += values[i]! * unit;
  return made;
}

/** Integers of up to four bytes. These loops run over every number of a page, mostly before they are compiled. */
function narrow(bytes: Uint8Array, rows: number, { bytes: width, planes }: PackedList): Int32Array {
  const values = new Int32Array(rows);
  const [step, plane] = planes ? [1, rows] : [width, 1];
  if (width === 1) {
    for (let i = 0; i < rows; ++i) values[i] = (bytes[i]! >>> 1) ^ -(bytes[i]! & 1);
    return values;
  }
  for (let i = 0, from = 0; i < rows; ++i, from += step) {
    let code = bytes[from]! | (bytes[from + plane]! << 8);
    if (width > 2) code |= bytes[from + 2 * plane]! << 16;
    if (width > 3) code |= bytes[from + 3 * plane]! << 24;
    values[i] = (code >>> 1) ^ -(code & 1);
  }
  return values;
}

function broad(bytes: Uint8Array, rows: number, { bytes: width, planes }: PackedList): Float64Array {
  const values = new Float64Array(rows);
  const [step, plane] = planes ? [1, rows] : [width, 1];
  for (let k = 0; k < width; ++k) {
    const place = 2 ** (8 * k);
    for (let i = 0, from = k * plane; i < rows; ++i, from += step) values[i]! += bytes[from]! * place;
  }
  for (let i = 0; i < rows; ++i) values[i] = values[i]! % 2 === 0 ? values[i]! / 2 : -(values[i]! + 1) / 2;
  return values;
}
