/**
 * A column as pages get it: numbers packed as base64 of little-endian values, or a plain array.
 * `scale` gives the unit back to numbers that were stored as multiples of it.
 */
export type Packed =
  | { type: "f64" | "f32" | "i32" | "u32" | "i16" | "u16" | "i8" | "u8"; data: string; scale?: number }
  | number[]
  | string[];

export type Numbers = Float64Array | Float32Array | Int32Array | Uint32Array | Int16Array | Uint16Array | Int8Array
  | Uint8Array;

const ARRAYS = {
  f64: Float64Array,
  f32: Float32Array,
  i32: Int32Array,
  u32: Uint32Array,
  i16: Int16Array,
  u16: Uint16Array,
  i8: Int8Array,
  u8: Uint8Array,
} as const;

/** The numbers of a column. Throws TypeError for a column of texts or an unknown type. */
export function unpack(column: Packed): Numbers {
  if (Array.isArray(column)) return Float64Array.from(column, Number);
  const kind = ARRAYS[column.type];
  if (kind === undefined) throw new TypeError(`unknown column type ${String(column.type)}`);
  const bytes = bytesOfBase64(column.data);
  const values = new kind(bytes.buffer, 0, Math.floor(bytes.byteLength / kind.BYTES_PER_ELEMENT));
  if (column.scale === undefined || column.scale === 1) return values;
  return Float64Array.from(values, (value) => value * (column.scale as number));
}

export type Deflated = { type: keyof typeof ARRAYS; deflated: string };

/** The numbers of a column whose bytes were compressed (zlib format). */
export async function inflate(column: Deflated): Promise<Numbers> {
  const stream = new Blob([bytesOfBase64(column.deflated)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new ARRAYS[column.type](await new Response(stream).arrayBuffer());
}

type FromBase64 = { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }; // in browsers since 2025

export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as FromBase64).fromBase64;
  if (native !== undefined) return native(text);
  const binary = atob(text);
  const bytes = new Uint8Array(new ArrayBuffer(binary.length));
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** What the program put in this page, or null in a page without data. */
export function pageData<T>(): T | null {
  const element = document.getElementById("kvsweep-data");
  return JSON.parse(element?.textContent ?? "null") as T | null;
}
